// The arguments of `call`, as a person types them: `key=value …`, or one JSON object.

import { quote } from '../jsonrpc/text.js'

export class ArgumentMistake extends Error {}

/**
 * Gives the arguments as raw JSON, so that numbers stay as they were typed.
 *
 * `typeOf` gives the JSON type that the tool wants of a key, where it says one. A value for a string is text; every
 * other one is JSON. Without a type, what reads as a number, `true`, `false`, `null`, an array or an object is JSON.
 *
 * @throws ArgumentMistake
 */
export function argumentsOf(words: readonly string[], typeOf: (key: string) => string | undefined): string {
  const [first = '', ...others] = words
  if (first.trimStart().startsWith('{')) {
    if (others.length > 0) throw new ArgumentMistake('nothing may stand behind the JSON object')
    if (!isJson(first))
      throw new ArgumentMistake(
        `the arguments are no JSON: ${first}; write {"key":"value"} in single quotes, or key=value`,
      )
    return first
  }
  const members = words.map((word) => memberOf(word, typeOf))
  return `{${members.join(',')}}`
}

function memberOf(word: string, typeOf: (key: string) => string | undefined): string {
  const at = word.indexOf('=')
  if (at < 1) throw new ArgumentMistake(`"${word}" is no argument; write key=value, or one JSON object`)
  const [key, value] = [word.slice(0, at), word.slice(at + 1)]
  return `${quote(key)}:${valueOf(key, value, typeOf(key))}`
}

function valueOf(key: string, value: string, type: string | undefined): string {
  if (type === 'string') return quote(value)
  if (isJson(value) && (type !== undefined || !value.startsWith('"'))) return value
  if (type === undefined) return quote(value)
  throw new ArgumentMistake(`"${key}" takes ${typeWords[type] ?? 'JSON'}, not "${value}"`)
}

const typeWords: Readonly<Record<string, string>> = {
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  array: 'a JSON array',
  object: 'a JSON object',
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
