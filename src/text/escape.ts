// Makes text from outside safe to show.
//
// The stderr of a child can contain terminal commands (ESC, C1), controls that reverse the text after them
// (bidirectional controls), and line ends that fake a record. None of them may reach a terminal or begin a
// line of a log.

/** C0, DEL, C1, bidirectional and line controls, the byte order mark, invisible tags. */
const unsafe =
  // oxlint-disable-next-line no-control-regex -- control characters are what this file is about.
  /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

const short: ReadonlyMap<string, string> = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])

/** Returns the text on one line. Every character that changes the terminal becomes an escape. */
export function escapeText(text: string): string {
  return text.replaceAll(unsafe, (character) => short.get(character) ?? unicodeEscape(character))
}

/** Escapes JSON text with the escapes of JSON, so the value stays the same. */
export function escapeJson(json: string): string {
  return json.replaceAll(unsafe, unicodeEscape)
}

/** Escapes a whole output, but keeps line ends, tabs and the proxy's colours (ESC). JSON keeps every value. */
export function escapeOutput(text: string): string {
  return text.replaceAll(unsafe, (character) => (character < '\u007f' ? character : unicodeEscape(character)))
}

/** Quotes the text as one word of a POSIX shell, for a command that a person may copy. */
export function inShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

function unicodeEscape(character: string): string {
  let out = ''
  for (let at = 0; at < character.length; at += 1)
    out += `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
  return out
}

/** Decodes percent escapes. Returns a text with an invalid escape unchanged. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
