// Characters that a model reads and a person does not see: zero-width ones, bidirectional controls, tags, and control
// characters. A description may hide orders in them.

const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu

/** Emoji join several characters with invisible ones, which is no reason to warn. The flag `v` is newer than the target of the compiler. */
const emoji = new RegExp(String.raw`\p{RGI_Emoji}`, 'gv')

/** The same JSON text with each invisible character as an escape. */
export function escapeUnseen(json: string): string {
  return json.replaceAll(unseen, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** A text, or one of JSON with escapes, in which each invisible character is written as `<U+200B>`. */
export function showUnseen(text: string): string {
  return unescaped(text, (whole) => whole).replaceAll(unseen, (character) => `<${codePointOf(character)}>`)
}

/** The invisible characters of the same texts, each once, and the text that tags spell; undefined where there is none. Emoji and layout are left out. */
export function unseenIn(text: string): string | undefined {
  const found = [
    ...unescaped(text, () => '')
      .replaceAll(emoji, '')
      .matchAll(unseen),
  ].map(([character]) => character)
  if (found.length === 0) return undefined
  const spelled = found.map((each) => letterOf(each.codePointAt(0) ?? 0)).join('')
  const codes = [...new Set(found.map(codePointOf))].join(', ')
  return spelled === '' ? codes : `${codes} that spell "${spelled.slice(0, SPELLED_LENGTH_MAX)}"`
}

/** More of a hidden text says nothing that its beginning does not. */
const SPELLED_LENGTH_MAX = 120

/** The letter that a tag repeats, unseen (Unicode, Tags). */
function letterOf(code: number): string {
  const letter = code - 0xe0000
  return letter >= 0x20 && letter < 0x7f ? String.fromCharCode(letter) : ''
}

/** Other escapes, such as `\n`, become what `other` gives. */
function unescaped(json: string, other: (whole: string) => string): string {
  return json.replaceAll(/\\(?:u([\da-f]{4})|.)/g, (whole, hex: string | undefined) =>
    hex === undefined ? other(whole) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
