// The protocol of the Time server: one line in, at most one line out.
//
// The server keeps nothing between two messages, so that it need not know whether the
// client has initialized it. The code of the tool calls is loaded by the first call.

import { toolList } from './time-tool-list.js'
import type { WallClock } from './time-tool-calls.js'

/** What the answers depend on besides the line. */
export interface TimeHost {
  readonly now: WallClock
  /** Asked only by `tools/list`. */
  readonly localZone: () => Promise<string>
}

type Fields = Readonly<Record<string, unknown>>
type Id = string | number | null
type Outcome =
  { readonly result: object } | { readonly error: { readonly code: number; readonly message: string } }

const NEWEST_REVISION = '2025-11-25'
const REVISIONS: readonly unknown[] = ['2024-11-05', '2025-03-26', '2025-06-18', NEWEST_REVISION]
const SERVER_INFO = { name: 'mcp-time', version: '0.1.0' }
const CAPABILITIES = { experimental: {}, tools: { listChanged: false } }

/** The answer to a line without its line end; undefined for what JSON-RPC leaves unanswered. */
export async function answerLine(line: string, host: TimeHost): Promise<string | undefined> {
  if (line.trim() === '') return undefined
  const message = parse(line)
  if (message === undefined) return answer(null, failure(-32700, 'Parse error'))
  return isFields(message) ? answerMessage(message, host) : invalidRequest(null)
}

/** No JSON text parses to undefined, so that it can stand for a syntax error. */
function parse(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

async function answerMessage(message: Fields, host: TimeHost): Promise<string | undefined> {
  const { method, id } = message
  if (typeof method !== 'string') return isResponse(message) ? undefined : invalidRequest(id)
  if (id === undefined) return undefined
  if (!isId(id) || id === null || message['jsonrpc'] !== '2.0') return invalidRequest(id)
  return answer(id, await respond(method, message['params'], host))
}

/** The server sends no requests, so that a response can only be a stray one. */
function isResponse(message: Fields): boolean {
  return 'result' in message || 'error' in message
}

async function respond(method: string, params: unknown, host: TimeHost): Promise<Outcome> {
  switch (method) {
    case 'initialize':
      return { result: initializeResult(params) }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return { result: toolList(await host.localZone()) }
    case 'tools/call':
      return respondToCall(params, host.now)
    default:
      return failure(-32601, 'Method not found')
  }
}

function initializeResult(params: unknown): object {
  const asked = isFields(params) ? params['protocolVersion'] : undefined
  const protocolVersion = REVISIONS.includes(asked) ? asked : NEWEST_REVISION
  return { protocolVersion, capabilities: CAPABILITIES, serverInfo: SERVER_INFO }
}

async function respondToCall(params: unknown, now: WallClock): Promise<Outcome> {
  const { name, arguments: given } = isFields(params) ? params : {}
  const args = given ?? {}
  if (typeof name !== 'string' || !isFields(args)) return failure(-32602, 'Invalid request parameters')
  const { callTool } = await import('./time-tool-calls.js')
  return { result: callTool(name, args, now) }
}

function failure(code: number, message: string): Outcome {
  return { error: { code, message } }
}

function invalidRequest(id: unknown): string {
  return answer(isId(id) ? id : null, failure(-32600, 'Invalid Request'))
}

function answer(id: Id, outcome: Outcome): string {
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome })
}

function isId(value: unknown): value is Id {
  return typeof value === 'string' || typeof value === 'number' || value === null
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
