// What header fields of an HTTP request repeat of its message.
//
// MCP 2026-07-28, Transports, Streamable HTTP: standard request headers, and value encoding; the extension Tasks: routing
// headers. What a header field
// cannot carry as it is stands there in Base64.

import type { RequestFrame } from '../jsonrpc/frame.js'

/** The member of `params` that `Mcp-Name` repeats, by method. */
const named: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ['tasks/get', 'taskId'],
  ['tasks/update', 'taskId'],
  ['tasks/cancel', 'taskId'],
])

/** What `Mcp-Name` repeats of this request, as far as the message has it; undefined where there is no such field. */
export function mirroredName({
  method,
  params,
}: RequestFrame): { readonly text: string | undefined } | undefined {
  const member = named.get(method)
  return member === undefined ? undefined : { text: params.members.string(member) }
}

const ENCODED = /^=\?base64\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)\?=$/
const LOOKS_ENCODED = /^=\?base64\?.*\?=$/s
const PLAIN = /^[\x20-\x7e]*$/

/** The text that a field value stands for; undefined for what stands for none. */
export function textOfField(value: string): string | undefined {
  if (!LOOKS_ENCODED.test(value)) return PLAIN.test(value) ? value : undefined
  const [, encoded] = ENCODED.exec(value) ?? []
  if (encoded === undefined) return undefined
  const bytes = Buffer.from(encoded, 'base64')
  const text = bytes.toString('utf8')
  // The same text has one form: neither spare bits nor bytes that are no UTF-8.
  const isWhole = bytes.toString('base64') === encoded && Buffer.from(text).equals(bytes)
  return isWhole ? text : undefined
}

/** What stands in a field for this text: the text, where a field can carry it as it is. */
export function fieldOfText(text: string): string {
  const isPlain = PLAIN.test(text) && text.trim() === text && text !== '' && !LOOKS_ENCODED.test(text)
  return isPlain ? text : `=?base64?${Buffer.from(text).toString('base64')}?=`
}
