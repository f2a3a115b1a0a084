// Reads the kind, the id, the method and the beginning of the text of a captured frame.

import { Buffer } from 'node:buffer'
import { CR, LF, OPEN_ARRAY } from '../jsonrpc/ascii.js'
import { type Frame, readMessage } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { stringAt } from '../jsonrpc/text.js'
import { saysError } from '../mcp/result-type.js'
import type { FrameRow } from './protocol.js'
import type { CapturedFrame } from './ring.js'

export type FrameFacts = Pick<FrameRow, 'kind' | 'id' | 'method' | 'name' | 'failed'>

/** A message as its row shows it. */
export interface FrameSummary {
  readonly facts: FrameFacts
  /** The span of the arguments, params, result or error; absent if the message is no single JSON-RPC message. */
  readonly content?: Span
}

/** Returns the message without its line end. */
export function messageOf({ bytes, size }: CapturedFrame): Buffer {
  if (size > bytes.length || bytes.at(-1) !== LF) return bytes
  return bytes.subarray(0, bytes.length - (bytes.at(-2) === CR ? 2 : 1))
}

export function isCut({ bytes, size }: CapturedFrame): boolean {
  return size > bytes.length
}

/** Match members in the beginning of a cut message. */
const headId = /^\s*\{(?:\s*"jsonrpc"\s*:\s*"2\.0"\s*,)?\s*"id"\s*:\s*("(?:[^"\\]|\\.){0,256}"|-?\d{1,32})/s
const headMethod = /^\s*\{(?:[^{}[\]]{0,400}?[{,])?\s*"method"\s*:\s*"([\w/$.-]{1,256})"/s
const headResult = /^\s*\{(?:[^{}[\]]{0,400}?[{,])?\s*"(result|error)"\s*:/s

/** Matches the text before the content; the group is the name of the tool or prompt. */
const headContent =
  /"(?:params"\s*:\s*\{\s*"name"\s*:\s*"([^"\\]{1,200})"\s*,\s*"arguments|params|result|error)"\s*:\s*/s

/** The bytes of a cut message that the patterns search. */
const HEAD_LENGTH = 1024

export function summaryOf(frame: CapturedFrame): FrameSummary {
  const message = messageOf(frame)
  if (isCut(frame)) return summaryOfHead(message.toString('latin1', 0, HEAD_LENGTH), message.length)
  if (message[0] === OPEN_ARRAY) return { facts: { kind: 'batch' } }
  const read = readMessage(toLine(message))
  if (read.kind === 'unreadable') return { facts: { kind: 'other' } }
  return { facts: factsOfMessage(read), content: contentOf(read) }
}

/** Returns an empty span for a request or a notification without params. */
function contentOf(frame: Frame): Span {
  switch (frame.kind) {
    case 'request':
    case 'notification':
      return frame.params.members.span('arguments') ?? frame.params.span ?? { start: 0, end: 0 }
    case 'result':
      return frame.result
    case 'error':
      return frame.error
  }
}

function factsOfMessage(frame: Frame): FrameFacts {
  switch (frame.kind) {
    case 'request':
    case 'notification': {
      const { kind, method, params } = frame
      const name = params.members.string('name') ?? params.members.string('uri') ?? clientName(frame)
      const id = kind === 'request' ? { id: frame.id } : {}
      return { kind, ...id, method, ...(name !== undefined && { name }) }
    }
    case 'result':
      return { kind: 'result', id: frame.id, ...(saysError(frame) && { failed: true }) }
    case 'error':
      return { kind: 'error', ...(frame.id !== undefined && { id: frame.id }), failed: true }
  }
}

/** Returns the name of the client in an `initialize` request. */
function clientName({ line, params }: Extract<Frame, { method: string }>): string | undefined {
  const info = membersAt(line, params.members.span('clientInfo'))
  return stringAt(line, info?.span('name'))
}

/** Each character of `head` is one byte. `length` is the number of kept bytes of the message. */
function summaryOfHead(head: string, length: number): FrameSummary {
  const facts = factsOfHead(head)
  const found = headContent.exec(head)
  if (found === null) return { facts }
  const [before, name] = found
  const content = { start: found.index + before.length, end: length }
  const hasName = name !== undefined && facts.kind === 'request'
  return { facts: hasName ? { ...facts, name: Buffer.from(name, 'latin1').toString() } : facts, content }
}

/** The id may stand behind the kept bytes, so the method decides between request and notification. */
function factsOfHead(head: string): FrameFacts {
  const id = headId.exec(head)?.[1]
  const method = headMethod.exec(head)?.[1]
  const withId = id !== undefined && { id }
  if (method !== undefined)
    return { kind: method.startsWith('notifications/') ? 'notification' : 'request', ...withId, method }
  const outcome = headResult.exec(head)?.[1]
  if (outcome === 'error') return { kind: 'error', ...withId, failed: true }
  return { kind: outcome === 'result' ? outcome : 'other', ...withId }
}

/** The length of the text in a row, in UTF-16 units. */
const TEXT_LENGTH = 160

/** Returns the redacted beginning of a text. */
export function shownText(message: Buffer, clean: (bytes: Buffer, isCut: boolean) => Buffer): string {
  const head = message.subarray(0, HEAD_LENGTH)
  const text = clean(head, message.length > head.length).toString('utf8')
  return text.slice(0, TEXT_LENGTH)
}
