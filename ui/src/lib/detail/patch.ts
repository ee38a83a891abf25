/** A line of a suggested change. */
export interface PatchLine {
  readonly kind: 'add' | 'remove' | 'same' | 'hunk'
  readonly text: string
}

/** The hunks of a unified diff without its file headers. */
export function patchLines(patch: string): PatchLine[] {
  const lines: PatchLine[] = []
  let inHunk = false
  for (const line of patch.replace(/\n$/, '').split('\n')) {
    if (line.startsWith('@@ ')) {
      // The first hunk header tells nothing that the place of the finding does not.
      if (inHunk) lines.push({ kind: 'hunk', text: line })
      inHunk = true
    } else if (inHunk && line.startsWith('diff --git ')) inHunk = false
    else if (!inHunk || line.startsWith('\\')) continue
    else if (line.startsWith('+')) lines.push({ kind: 'add', text: line.slice(1) })
    else if (line.startsWith('-')) lines.push({ kind: 'remove', text: line.slice(1) })
    else lines.push({ kind: 'same', text: line.slice(1) })
  }
  return lines
}
