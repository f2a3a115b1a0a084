// Any value -> a small plain one that can be written as JSON.
//
// Details of a log record come from errors and from strangers: they can be
// cyclic, huge, or throw when they are looked at. The result is bounded in
// depth, in members and in text, has no secret in it, and is only data.

import type { Redactor } from '../text/redactor.js'

/** Longest text of one value, in UTF-16 units; the characters after it are counted, not shown. */
const logTextLengthMax: number = 8 * 1024

/** Deepest nesting that is shown: an error, its cause, and their details. */
const depthMax = 6

/** Most members of one object or list that are shown. */
const membersMax = 64

/** A value of a log record as data. */
export type Plain = string | number | boolean | null | readonly Plain[] | { readonly [key: string]: Plain }

const secretKey = /^(?:proxy-)?authorization$|^(?:set-)?cookie$|^x-api-key$|^api[-_]?key$|^password$/i

/** Never throws. */
export function plain(value: unknown, redactor: Redactor, depth = 0): Plain {
  try {
    return plainOf(value, redactor, depth)
  } catch {
    return '[cannot be shown]'
  }
}

function plainOf(value: unknown, redactor: Redactor, depth: number): Plain {
  if (typeof value === 'string') return plainText(value, redactor)
  if (typeof value === 'number') return Number.isFinite(value) ? value : String(value)
  if (typeof value === 'boolean' || value === null) return value
  if (typeof value === 'bigint') return plainText(value.toString(), redactor)
  if (typeof value !== 'object') return `[${typeof value}]`
  if (depth >= depthMax) return '[…]'
  if (value instanceof Error) return plainError(value, redactor, depth)
  if (value instanceof Uint8Array) return plainBytes(value, redactor)
  if (Array.isArray(value)) return plainList(value, redactor, depth)
  return plainMembers(value, redactor, depth)
}

/** Without secrets and no longer than the limit. */
export function plainText(text: string, redactor: Redactor): string {
  const shown = redactor.shown(text, logTextLengthMax)
  return text.length <= logTextLengthMax ? shown : `${shown}… (${text.length} characters)`
}

function plainBytes(bytes: Uint8Array, redactor: Redactor): string {
  const text = new TextDecoder().decode(bytes.subarray(0, logTextLengthMax))
  if (bytes.length <= logTextLengthMax) return redactor.clean(text)
  return `${redactor.beginning(text)}… (${bytes.length} bytes)`
}

function plainList(values: readonly unknown[], redactor: Redactor, depth: number): Plain {
  const shown = values.slice(0, membersMax).map((value) => plain(value, redactor, depth + 1))
  return values.length > membersMax ? [...shown, `… (${values.length} items)`] : shown
}

function plainMembers(value: object, redactor: Redactor, depth: number): Record<string, Plain> {
  const keys = Object.keys(value)
  const members = keys
    .slice(0, membersMax)
    .map((key): [string, Plain] => [plainText(key, redactor), plainMember(value, key, redactor, depth)])
  if (keys.length > membersMax) members.push(['…', `${keys.length} members`])
  return Object.fromEntries(members)
}

function plainMember(value: object, key: string, redactor: Redactor, depth: number): Plain {
  if (secretKey.test(key)) return '[redacted]'
  try {
    return plain(Reflect.get(value, key), redactor, depth + 1)
  } catch {
    return '[cannot be shown]'
  }
}

function plainError(error: Error, redactor: Redactor, depth: number): Plain {
  const { name, message, stack = '', cause } = error
  return {
    name,
    message: plainText(message, redactor),
    ...plainMembers(error, redactor, depth),
    ...(cause === undefined ? {} : { cause: plain(cause, redactor, depth + 1) }),
    stack: plainText(stack, redactor),
  }
}
