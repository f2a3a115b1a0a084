// Finds characters that a model reads and a person does not see: zero-width characters, bidirectional controls,
// tags and control characters. A description may hide orders in them.

const unseen = /(?!\n)[\p{Cc}\p{Cf}\p{Default_Ignorable_Code_Point}\u2028\u2029]/gu

/** Emoji contain invisible joiners, which need no warning. A literal with flag `v` needs a newer compiler target. */
const emoji = new RegExp(String.raw`\p{RGI_Emoji}`, 'gv')

/** Writes each invisible character of a JSON text as an escape. */
export function escapeUnseen(json: string): string {
  return json.replaceAll(unseen, (character) =>
    [...Array(character.length).keys()]
      .map((at) => `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}

/** Writes each invisible character of a text, and each JSON escape of one, in the form `<U+200B>`. */
export function showUnseen(text: string): string {
  return unescaped(text, (whole) => whole).replaceAll(unseen, (character) => `<${codePointOf(character)}>`)
}

/** Lists invisible characters, except emoji and layout; undefined if there is none. */
export function unseenIn(text: string): string | undefined {
  const found = [
    ...unescaped(text, () => '')
      .replaceAll(emoji, '')
      .matchAll(unseen),
  ].map(([character]) => character)
  return found.length === 0 ? undefined : [...new Set(found.map(codePointOf))].join(', ')
}

/** Decodes `\u` escapes, and replaces other escapes, such as `\n`, by the result of `other`. */
function unescaped(json: string, other: (whole: string) => string): string {
  return json.replaceAll(/\\(?:u([\da-f]{4})|.)/g, (whole, hex: string | undefined) =>
    hex === undefined ? other(whole) : String.fromCharCode(Number.parseInt(hex, 16)),
  )
}

function codePointOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
