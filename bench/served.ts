// The answers of the bench servers: calls of an expected shape from prepared bytes, and rare messages by parsing them.

import {
  CALL_AFTER_ID,
  CALL_CLOSE,
  ECHO_ARGUMENTS,
  LAST_CALL,
  LAST_HEAD,
  LINE_HEAD,
  blob,
  startsWith,
} from './wire.js'

const QUOTE = 34
const COMMA = 44
const COLON = 58

const HEAD = Buffer.from(LINE_HEAD)
const AFTER_ID = Buffer.from(CALL_AFTER_ID)
const ECHO = Buffer.from(`echo${ECHO_ARGUMENTS}`)
const SWALLOW = Buffer.from(`swallow${ECHO_ARGUMENTS}`)
const BLOB = Buffer.from('blob","arguments":{"size":')
const ID_LAST_CALL = Buffer.from(LAST_CALL)

interface Found {
  isIdLast: boolean
  idStart: number
  idEnd: number
  text: Buffer
  textFrom: number
  textEnd: number
}

/** The places of the parts of the call that was found last, and the text of its answer: one object, so that a call makes none. */
export const found: Found = { isIdLast: false, idStart: 0, idEnd: 0, text: HEAD, textFrom: 0, textEnd: 0 }

/** Finds the parts of a call of an expected shape, which has no line end; false when the message is anything else. */
export function findCall(message: Buffer): boolean {
  found.isIdLast = startsWith(message, 0, ID_LAST_CALL)
  if (found.isIdLast) {
    found.idEnd = message.length - 1
    found.idStart = message.lastIndexOf(COLON) + 1
    return findText(message, ID_LAST_CALL.length, found.idStart - LAST_HEAD.length - CALL_CLOSE.length)
  }
  if (!startsWith(message, 0, HEAD)) return false
  found.idStart = HEAD.length
  found.idEnd = message.indexOf(COMMA, HEAD.length)
  if (!startsWith(message, found.idEnd, AFTER_ID)) return false
  return findText(message, found.idEnd + AFTER_ID.length, message.length - 1 - CALL_CLOSE.length)
}

/** The name of the tool stands at `nameAt`, and the text of its arguments ends at `end`, where there is one. */
function findText(message: Buffer, nameAt: number, end: number): boolean {
  if (message[end] === QUOTE && startsWith(message, nameAt, ECHO)) setText(message, nameAt + ECHO.length, end)
  else if (startsWith(message, nameAt, BLOB)) {
    const text = blob(readSize(message, nameAt + BLOB.length))
    setText(text, 0, text.length)
  } else if (startsWith(message, nameAt, SWALLOW)) {
    // How many bytes the text had, as eight digits, so that nothing can be lost on the way unseen.
    const text = Buffer.from(String(end - nameAt - SWALLOW.length).padStart(8, '0'))
    setText(text, 0, text.length)
  } else return false
  return true
}

function setText(text: Buffer, from: number, end: number): void {
  found.text = text
  found.textFrom = from
  found.textEnd = end
}

function readSize(message: Uint8Array, from: number): number {
  let size = 0
  for (let at = from; ; at += 1) {
    const digit = (message[at] ?? 0) - 48
    if (digit < 0 || digit > 9) return size
    size = size * 10 + digit
  }
}

function toolList(toolCount: number): unknown[] {
  const text = { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] }
  const size = { type: 'object', properties: { size: { type: 'integer', minimum: 0 } }, required: ['size'] }
  const tools: unknown[] = [
    { name: 'echo', description: 'Returns the text.', inputSchema: text },
    { name: 'swallow', description: 'Returns the length of the text in bytes.', inputSchema: text },
    { name: 'blob', description: 'Returns a text of size bytes.', inputSchema: size },
  ]
  for (let n = tools.length; n < toolCount; n += 1)
    tools.push({ name: `tool_${n}`, description: `Tool ${n} of the bench server.`, inputSchema: text })
  return tools
}

function textOf(params: unknown): unknown {
  if (typeof params !== 'object' || params === null || !('arguments' in params)) return undefined
  const given = params.arguments
  return typeof given === 'object' && given !== null && 'text' in given ? given.text : undefined
}

/** The result of a method that the bench servers know; undefined of any other. */
function resultOf(method: unknown, params: unknown, toolCount: number): unknown {
  switch (method) {
    case 'tools/call':
      return { content: [{ type: 'text', text: textOf(params) }] }
    case 'initialize':
      return {
        protocolVersion: '2025-06-18',
        capabilities: { tools: {} },
        serverInfo: { name: 'bench', version: '1.0.0' },
      }
    case 'tools/list':
      return { tools: toolList(toolCount) }
    case 'ping':
    case 'shutdown':
      return {}
    default:
      return undefined
  }
}

/** The method of a message that is none of these calls, and the answer where it is a request. */
export function slowAnswer(text: Buffer, toolCount: number): { method: unknown; answer: string } | undefined {
  const message: unknown = JSON.parse(text.toString())
  if (typeof message !== 'object' || message === null || !('id' in message) || !('method' in message))
    return undefined
  const { id, method } = message
  const result = resultOf(method, 'params' in message ? message.params : undefined, toolCount)
  const error = { code: -32601, message: `Method '${String(method)}' not found` }
  const outcome = result === undefined ? { error } : { result }
  return { method, answer: JSON.stringify({ jsonrpc: '2.0', id, ...outcome }) }
}
