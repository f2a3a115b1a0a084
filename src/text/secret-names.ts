// Names of secrets: variables, options, header fields, parameters of addresses, and members of JSON.
//
// Names are compared word by word, so `api_key` and `authToken` count; `tokenizer` and `keyboard` do not.

import type { Span } from '../jsonrpc/scan.js'
import { REDACTED, masked } from './redactor.js'

const secretWords: ReadonlySet<string> = new Set(
  `password passwords passwd passphrase passcode pass pwd secret secrets token credential credentials
  authorization auth cookie cookies jwt pat apikey apikeys accesskey privatekey secretkey authkey
  accesstoken authtoken refreshtoken clientsecret`.split(/\s+/),
)

/** After one of these words, the word `key` names a secret. */
const keyWords: ReadonlySet<string> = new Set(
  'api access private secret client auth signing encryption license service master account ssh shared'.split(
    ' ',
  ),
)

/** These ends of names mark no secret: such tokens correlate messages and pages. */
const publicName = /(?:progress|page|cursor|continuation)[_-]?token$/i

/** Parts of the names above. A text without any of them contains no secret name. */
const secretNamePart = /pass|pwd|secret|token|credential|auth|cookie|jwt|pat|key/i

export function isSecretName(name: string): boolean {
  if (publicName.test(name)) return false
  const words = wordsOf(name)
  return words.some((word, at) => {
    if (word !== 'key' && word !== 'keys') return secretWords.has(word)
    // A variable such as OPENAI_KEY holds a key of that service.
    const isVariable = at === words.length - 1 && at > 0 && name === name.toUpperCase()
    return isVariable || keyWords.has(words[at - 1] ?? '')
  })
}

/** Whether the value of this parameter of an address is a secret. Some servers accept a plain `key` there. */
export function isSecretParameter(name: string): boolean {
  return (
    isSecretName(name) ||
    wordsOf(name).some((word) => /^(?:key|code|sig|signature|session|sessionid)$/.test(word))
  )
}

function wordsOf(name: string): string[] {
  const split = name.replaceAll(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
  return split.toLowerCase().split(/[^a-z\d]+/)
}

/** Matches the name of a member. JSON inside a JSON string escapes its quotes, once per level. */
const memberName = /(\\{0,15}")([^"\\]{1,64})\1\s{0,8}:\s{0,8}/g

/** The range of the value after the name: a string, which may lack its end, or a number. */
function valueEnd(text: string, quotes: string, from: number): Span {
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

export function secretMemberRanges(json: string): Span[] {
  if (!secretNamePart.test(json)) return []
  return [...json.matchAll(memberName)].flatMap(({ index, 0: whole, 1: quotes = '', 2: name = '' }) => {
    if (!isSecretName(name)) return []
    const range = valueEnd(json, quotes, index + whole.length)
    return range.end > range.start ? [range] : []
  })
}

/** Removes the values under secret names from JSON or from the beginning of JSON. */
export function withoutSecretMembers(json: string): string {
  const mask = (start: number): string => (json[start - 1] === '"' ? REDACTED : `"${REDACTED}"`)
  return masked(json, secretMemberRanges(json), mask)
}
