/** Whether every word of the query is somewhere in the text, in any order and case. */
export function matches(text: string, query: string): boolean {
  const hay = text.toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => hay.includes(word))
}
