/** Whether a drag brings text or a link and no files: those only the page hears of. */
export function carriesText(event: DragEvent): boolean {
  const types = event.dataTransfer?.types ?? []
  return !types.includes('Files') && (types.includes('text/plain') || types.includes('text/uri-list'))
}

/** The text or link of a drop. */
export function textOfDrag(event: DragEvent): string {
  const data = event.dataTransfer
  if (!data || data.types.includes('Files')) return ''
  return data.getData('text/uri-list') || data.getData('text/plain')
}
