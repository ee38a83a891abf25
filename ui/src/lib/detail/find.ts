/** Indexes of the lines that hold the text, any case. */
export function findLines(lines: readonly string[], text: string): number[] {
  if (text === '') return []
  const wanted = text.toLowerCase()
  const found: number[] = []
  for (let index = 0; index < lines.length; index += 1)
    if (lines[index]?.toLowerCase().includes(wanted)) found.push(index)
  return found
}

/** A line cut at the places that match, for highlighting. */
export function cut(line: string, text: string): { text: string; hit: boolean }[] {
  if (text === '') return [{ text: line, hit: false }]
  const parts: { text: string; hit: boolean }[] = []
  const hay = line.toLowerCase()
  const wanted = text.toLowerCase()
  let from = 0
  for (let at = hay.indexOf(wanted); at !== -1; at = hay.indexOf(wanted, from)) {
    if (at > from) parts.push({ text: line.slice(from, at), hit: false })
    parts.push({ text: line.slice(at, at + wanted.length), hit: true })
    from = at + wanted.length
  }
  if (from < line.length) parts.push({ text: line.slice(from), hit: false })
  return parts
}

/** How a log line is coloured: by the level word among its first words. */
export function levelOf(line: string): 'error' | 'warn' | null {
  const level = /^\S{0,40}(?:\s+\S{1,40})?\s+(error|warn(?:ing)?)\b|^(error|warn(?:ing)?)\b/i.exec(line)
  const word = (level?.[1] ?? level?.[2])?.toLowerCase()
  if (word === undefined) return null
  return word === 'error' ? 'error' : 'warn'
}
