import type { FindingDto } from '../generated/FindingDto'
import { t } from '../text/en'

/** Where a finding is: `src/auth.ts:88`, `src/auth.ts:88-91`, or the file alone. */
export function place(finding: FindingDto): string {
  if (finding.start_line === 0) return finding.file
  const end = finding.end_line > finding.start_line ? `-${finding.end_line}` : ''
  return `${finding.file}:${finding.start_line}${end}`
}

/** A finding as a review comment in Markdown, ready to be pasted into a pull request. */
export function comment(finding: FindingDto): string {
  const parts = [`**${t.findings.severity(finding.severity)}: ${finding.title}** (\`${place(finding)}\`)`]
  if (finding.body.trim() !== '') parts.push(finding.body.trim())
  const patch = finding.suggestion?.patch
  if (patch) parts.push(fence('diff', patch.replace(/\n+$/, '')))
  return parts.join('\n\n')
}

/** A code block whose fence is longer than any fence inside. */
function fence(language: string, text: string): string {
  const longest = Math.max(0, ...[...text.matchAll(/`+/g)].map(([ticks]) => ticks.length))
  const bar = '`'.repeat(Math.max(3, longest + 1))
  return `${bar}${language}\n${text}\n${bar}`
}
