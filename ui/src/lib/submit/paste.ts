/** Most reviews that one drop, paste or sheet may start. */
export const MAX_ITEMS = 10

/** What pasted text is. */
export type Pasted = { kind: 'patch'; text: string } | { kind: 'items'; items: string[] } | { kind: 'nothing' }

const HUNK = /^@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@/m
const GIT_HEADER = /^diff --git /m
const PLAIN_HEADER = /^--- \S.*\r?\n\+\+\+ \S/m

/** Whether text is a patch: a git header, or a file header and a hunk. */
export function isPatch(text: string): boolean {
  return GIT_HEADER.test(text) || (PLAIN_HEADER.test(text) && HUNK.test(text))
}

/** A `file:` address as the path it stands for; anything else as it is. */
export function fromFileUri(item: string): string {
  if (!/^file:\/\//i.test(item)) return item
  try {
    return decodeURIComponent(new URL(item).pathname)
  } catch {
    return item
  }
}

/**
 * Tells a patch from a list of things to review. Comment lines of a `text/uri-list` are left out.
 * Several lines that are no patch and no list of paths or addresses are nothing: a paragraph
 * copied from somewhere must not become ten errors.
 */
export function classifyPaste(text: string): Pasted {
  if (isPatch(text)) return { kind: 'patch', text }
  const lines = text
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => fromFileUri(unquote(line)))
  if (lines.length === 0) return { kind: 'nothing' }
  if (lines.length === 1) {
    const [only = ''] = lines
    return only.length <= 4096 ? { kind: 'items', items: [only] } : { kind: 'nothing' }
  }
  return lines.every(looksLikeItem) ? { kind: 'items', items: lines } : { kind: 'nothing' }
}

function unquote(line: string): string {
  const quoted = /^(["'])(.+)\1$/.exec(line)
  return quoted?.[2] ?? line
}

function looksLikeItem(line: string): boolean {
  return (
    /^https?:\/\/\S+$/i.test(line) ||
    /^(~|\.{1,2})?\//.test(line) ||
    /^[A-Za-z]:[\\/]/.test(line) ||
    /\.(patch|diff)$/i.test(line)
  )
}

const HUNK_HEADER = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/

/**
 * Files and changed lines of a patch, for the list of what will be reviewed. Follows the lengths in
 * the hunk headers, so that a removed `-- comment` is not taken for a file header.
 */
export function measurePatch(text: string): { files: number; added: number; removed: number } {
  let git = 0
  let plain = 0
  let added = 0
  let removed = 0
  let oldLeft = 0
  let newLeft = 0
  for (const line of text.split('\n')) {
    if (oldLeft > 0 || newLeft > 0) {
      if (line.startsWith('+')) {
        added += 1
        newLeft -= 1
      } else if (line.startsWith('-')) {
        removed += 1
        oldLeft -= 1
      } else if (!line.startsWith('\\')) {
        oldLeft -= 1
        newLeft -= 1
      }
      continue
    }
    const hunk = HUNK_HEADER.exec(line)
    if (hunk) {
      oldLeft = Number(hunk[1] ?? 1)
      newLeft = Number(hunk[2] ?? 1)
    } else if (line.startsWith('diff --git ')) git += 1
    else if (line.startsWith('+++ ')) plain += 1
  }
  return { files: Math.max(git, plain), added, removed }
}
