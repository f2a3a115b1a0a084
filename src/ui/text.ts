// Formats untrusted text and numbers for the page.

/** Control characters, characters that change the direction of text, and invisible characters. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- control characters are what this pattern is about.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** Writes invisible characters, and characters that change the look of others, as escapes. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}

/** Returns at most `lengthMax` characters of the text on one line. */
export function short(text: string, lengthMax: number): string {
  const line = visible(text.slice(0, lengthMax)).replaceAll(/[\n\t]/g, ' ')
  return text.length > lengthMax ? `${line}…` : line
}

export function bytesText(bytes: number): string {
  if (bytes < 10_000) return `${bytes} B`
  if (bytes < 10_000_000) return `${Math.round(bytes / 1000)} kB`
  return `${Math.round(bytes / 1_000_000)} MB`
}

export function msText(ms: number | undefined): string {
  if (ms === undefined) return ''
  if (ms < 10) return `${ms.toFixed(1)} ms`
  return ms < 10_000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** Formats the time since the start of the proxy, with milliseconds. */
export function timeText(ms: number): string {
  const seconds = ms / 1000
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = (seconds % 60).toFixed(3).padStart(6, '0')
  return `${hours > 0 ? `${hours}:` : ''}${String(minutes).padStart(2, '0')}:${rest}`
}

/** Formats an age in one unit. */
export function agoText(ms: number): string {
  if (ms < 60_000) return `${Math.max(0, Math.round(ms / 1000))} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** Formats bytes like `hexdump -C`, 16 bytes a row. */
export function hexText(base64: string): string {
  const bytes = atob(base64)
  const rows: string[] = []
  for (let at = 0; at < bytes.length; at += 16) {
    const part = bytes.slice(at, at + 16)
    const hex = Array.from(part, (character) => character.charCodeAt(0).toString(16).padStart(2, '0')).join(
      ' ',
    )
    rows.push(
      `${at.toString(16).padStart(8, '0')}  ${hex.padEnd(47)}  ${part.replaceAll(/[^\x20-\x7e]/g, '.')}`,
    )
  }
  return rows.join('\n')
}
