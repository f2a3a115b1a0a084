// Makes text of strangers safe to show.
//
// A child's stderr can carry terminal commands (ESC, C1), text that reverses
// what follows it (bidirectional controls), and line ends that fake a record.
// None of them may reach a terminal or begin a line of a log.

/** C0, DEL, C1, bidirectional and line controls, the byte order mark, invisible tags. */
const unsafe =
  // oxlint-disable-next-line no-control-regex -- control characters are what this file is about.
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

const short: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** The text on one line, with every character that a terminal would act on written as an escape. */
export function escapeText(text: string): string {
  return text.replaceAll(unsafe, (character) => short.get(character) ?? unicodeEscape(character))
}

/** The same for JSON text: the escapes are JSON's own, so the value stays what it was. */
export function escapeJson(json: string): string {
  return json.replaceAll(unsafe, unicodeEscape)
}

/** A whole output without what a terminal acts on, but line ends, tabs and our own colours (ESC). In JSON it keeps every value. */
export function escapeOutput(text: string): string {
  return text.replaceAll(unsafe, (character) => (character < '\u007f' ? character : unicodeEscape(character)))
}

/** The text as one word of a POSIX shell, in quotes where it needs them: for a command that a person may copy. */
export function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function unicodeEscape(character: string): string {
  let out = ''
  for (let at = 0; at < character.length; at += 1)
    out += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  return out
}

/** The text with its percent escapes read; one with an invalid escape stands for itself. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
