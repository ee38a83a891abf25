import type { ItemDto } from '../../generated/ItemDto'

/** What the pretend engine makes of an item, by its name alone. */
export function classify(item: string): ItemDto {
  const label = item.replace(/\/$/, '').split('/').pop() ?? item
  const good = (kind: string, summary: string): ItemDto => ({ label, kind, summary, error: null })
  const bad = (code: string, message: string, fix: string[]): ItemDto => ({
    label,
    kind: null,
    summary: '',
    error: { code, message, disk_effect: 'No files were changed.', fix },
  })
  if (/^https?:\/\/[^/]+\/[^/]+\/[^/]+\/(pull|-\/merge_requests)\/\d+/.test(item)) {
    const [owner, name, , number] = new URL(item).pathname.slice(1).split('/')
    return { label: `${owner}/${name} #${number}`, kind: 'link', summary: 'Draft, 6 files', error: null }
  }
  if (/^https?:/.test(item))
    return bad('not_a_pull_request', 'This address is no pull request', [
      'Give the address of a pull request on GitHub or GitLab.',
    ])
  if (/\.(patch|diff)$/.test(item)) return good('patch', '6 files, +148 −31')
  if (/\.[a-z0-9]{1,5}$/i.test(label))
    return bad('not_reviewable', `Can’t review a .${label.split('.').pop()}`, [
      'Give a folder, a .patch or a .diff file.',
    ])
  if (/\.\./.test(item)) return good('range', '12 commits, 18 files')
  if (item.startsWith('/') || item.startsWith('~')) return good('repository', `Uncommitted work of ${label}`)
  return bad('not_found', `There is no file, folder or branch “${item}”`, [
    'Check the spelling, or choose it with Browse.',
  ])
}
