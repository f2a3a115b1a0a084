// Members of JSON whose names say that their values are secrets.

import { REDACTED, type Range } from './redactor.js'
import { isSecretName, secretNamePart } from './secret-names.js'

/** The name of a member. In a text within JSON its quotes are escaped, as often as texts are nested. */
const memberName = /(\\{0,15}")([^"\\]{1,64})\1\s{0,8}:\s{0,8}/g

/** The value behind the name: a string, which may lack its end, or a number. */
function valueEnd(text: string, quotes: string, from: number): Range {
  if (!text.startsWith(quotes, from)) {
    const [number = ''] = /^-?\d[\d.eE+-]*/.exec(text.slice(from, from + 64)) ?? []
    return { start: from, end: from + number.length }
  }
  const start = from + quotes.length
  for (let at = start; at < text.length; at++) {
    if (text.startsWith(quotes, at)) return { start, end: at }
    if (text[at] === '\\') at++
  }
  return { start, end: text.length }
}

/** The places of such values in JSON, or in the beginning of it. */
export function secretMemberRanges(json: string): Range[] {
  if (!secretNamePart.test(json)) return []
  return [...json.matchAll(memberName)].flatMap(({ index, 0: whole, 1: quotes = '', 2: name = '' }) => {
    if (!isSecretName(name)) return []
    const range = valueEnd(json, quotes, index + whole.length)
    return range.end > range.start ? [range] : []
  })
}

/** JSON, or the beginning of it, without the values under such names. */
export function withoutSecretMembers(json: string): string {
  let shown = ''
  let from = 0
  for (const { start, end } of secretMemberRanges(json)) {
    if (start < from) continue
    shown += json.slice(from, start) + (json[start - 1] === '"' ? REDACTED : `"${REDACTED}"`)
    from = end
  }
  return shown + json.slice(from)
}
