const cardinal = new Intl.PluralRules('en')
const ordinal = new Intl.PluralRules('en', { type: 'ordinal' })
const number = new Intl.NumberFormat('en')

/** The forms of a counted word that a language has; English needs two. */
export type Forms = Partial<Record<Intl.LDMLPluralRule, string>> & { other: string }

/** A number as people write it: `12,400`. */
export function count(n: number): string {
  return number.format(n)
}

/** `plural(1, {one: 'file', other: 'files'})` is `1 file`. */
export function plural(n: number, forms: Forms): string {
  return `${count(n)} ${forms[cardinal.select(n)] ?? forms.other}`
}

const SUFFIX: Forms = { one: 'st', two: 'nd', few: 'rd', other: 'th' }

/** `1st`, `2nd`, `11th`. */
export function nth(n: number): string {
  return `${n}${SUFFIX[ordinal.select(n)] ?? SUFFIX.other}`
}
