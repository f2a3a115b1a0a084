// Text of strangers, and numbers, as the page shows them.

/** Controls, characters that turn the direction of text, and characters that are not seen. */
const unseen =
  // oxlint-disable-next-line no-control-regex -- control characters are what this pattern is about.
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\u{e0000}-\u{e007f}]/gu

/** The text with every character that would not be seen, or would change how others are, written as an escape. */
export function visible(text: string): string {
  return text.replaceAll(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0
    return `\\u{${code.toString(16)}}`
  })
}

/** On one line, with at most so many characters. */
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

/** Seconds and what is below them, since the proxy started. */
export function timeText(ms: number): string {
  const seconds = ms / 1000
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60]
  const rest = (seconds % 60).toFixed(3).padStart(6, '0')
  return `${hours > 0 ? `${hours}:` : ''}${String(minutes).padStart(2, '0')}:${rest}`
}

/** The time since then, in one unit. */
export function agoText(ms: number): string {
  if (ms < 60_000) return `${Math.max(0, Math.round(ms / 1000))} s`
  if (ms < 3_600_000) return `${Math.round(ms / 60_000)} min`
  return `${(ms / 3_600_000).toFixed(1)} h`
}

export function count(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** Rows of 16 bytes, as `hexdump -C` prints them. */
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
