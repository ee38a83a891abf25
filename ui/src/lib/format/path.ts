/** How a dropped or typed thing is called in little room: a path by its last part, all else as it is. */
export function shortName(item: string): string {
  const isPath = item.startsWith('/') || item.startsWith('file://') || item.startsWith('~')
  if (!isPath) return item
  const last = item.replace(/\/+$/, '').split('/').pop()
  return last ? last : item
}
