// The protocol of the Time server. Each input line has at most one answer line, and the server keeps no state.

import { isObject } from '../text/json-object.js'
import { callTool, toolList } from './time-tools.js'

export interface TimeHost {
  readonly now: () => number
  readonly localZone: string
}

type Outcome =
  { readonly result: object } | { readonly error: { readonly code: number; readonly message: string } }

const newest = '2025-11-25'
const revisions: readonly unknown[] = ['2024-11-05', '2025-03-26', '2025-06-18', newest]

/** Returns the answer to a line, without line ends; undefined for a notification, a response or an empty line. */
export function answerLine(line: string, host: TimeHost): string | undefined {
  if (line.trim() === '') return undefined
  const message = parsed(line)
  if (message === undefined) return answer(null, failure(-32700, 'Parse error'))
  if (!isObject(message)) return answer(null, failure(-32600, 'Invalid Request'))
  const { method, id } = message
  const isResponse = method === undefined && ('result' in message || 'error' in message)
  if (isResponse || (typeof method === 'string' && id === undefined)) return undefined
  const isRequest = typeof method === 'string' && isId(id) && message['jsonrpc'] === '2.0'
  if (!isRequest) return answer(isId(id) ? id : null, failure(-32600, 'Invalid Request'))
  return answer(id, respond(method, message['params'], host))
}

function respond(method: string, params: unknown, { now, localZone }: TimeHost): Outcome {
  switch (method) {
    case 'initialize':
      return { result: initializeResult(params) }
    case 'ping':
      return { result: {} }
    case 'tools/list':
      return { result: toolList(localZone) }
    case 'tools/call': {
      const { name, arguments: given } = isObject(params) ? params : {}
      const args = given ?? {}
      if (typeof name !== 'string' || !isObject(args)) return failure(-32602, 'Invalid request parameters')
      return { result: callTool(name, args, now()) }
    }
    default:
      return failure(-32601, 'Method not found')
  }
}

function initializeResult(params: unknown): object {
  const asked = isObject(params) ? params['protocolVersion'] : undefined
  return {
    protocolVersion: revisions.includes(asked) ? asked : newest,
    capabilities: { experimental: {}, tools: { listChanged: false } },
    serverInfo: { name: 'mcp-time', version: '0.1.0' },
  }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

function failure(code: number, message: string): Outcome {
  return { error: { code, message } }
}

function answer(id: string | number | null, outcome: Outcome): string {
  return JSON.stringify({ jsonrpc: '2.0', id, ...outcome })
}

function isId(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number'
}
