// The errors of sandbox calls.
//
// Clients show the message and hide the data, so the message contains everything that a model needs.

import type { ErrorBody } from '../jsonrpc/build.js'
import { type SandboxRefusal, sandboxRefused } from '../mcp/error-codes.js'

type Context = Readonly<Record<string, unknown>>

/** A failed call. `body` is the error of the response. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly body: ErrorBody

  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

type Category = 'configuration' | 'resource' | 'network' | 'execution' | 'session' | 'system'

/** The kind of response, the category, the severity and the usual suggestions, by `error_code`. */
const facts = {
  RESOURCE_LIMIT_EXCEEDED: ['refused', 'resource', 'medium'],
  INVALID_PARAMETER: ['arguments', 'execution', 'low', 'Correct the parameter and call again'],
  SESSION_NOT_FOUND: ['arguments', 'session', 'low'],
  TEMPLATE_MISMATCH: ['arguments', 'session', 'low'],
  FILE_ACCESS_FAILED: ['failed', 'execution', 'low', 'Call list_files for what there is'],
  CONFIGURATION_ERROR: ['failed', 'configuration', 'high', 'Correct the configuration of the sandbox'],
  SANDBOX_CREATION_FAILED: ['failed', 'system', 'high', 'Call again', 'Run mcps-proxy sandbox --check'],
  CONNECTION_ERROR: [
    'failed',
    'network',
    'high',
    'Check that the sandbox server runs, and its address and key',
  ],
  CODE_EXECUTION_FAILED: ['failed', 'execution', 'medium'],
  COMMAND_EXECUTION_FAILED: ['failed', 'execution', 'medium'],
  WRAPPER_ERROR: ['failed', 'system', 'critical', 'Look at the log of the server'],
} as const satisfies Readonly<
  Record<string, readonly [SandboxRefusal, Category, severity: string, ...usual: string[]]>
>

type ErrorCode = keyof typeof facts

/** Codes whose messages are whole sentences, without the code. */
const sentences: ReadonlySet<ErrorCode> = new Set(['INVALID_PARAMETER', 'TEMPLATE_MISMATCH'])

export function sandboxError(
  code: ErrorCode,
  why: string,
  context: Context,
  ...suggestions: readonly string[]
): SandboxError {
  const [kind, category, severity, ...usual] = facts[code]
  const all = [...suggestions, ...usual]
  const data = { error_code: code, category, severity, recovery_suggestions: all, context }
  const words = code.toLowerCase().replaceAll('_', ' ')
  const message = sentences.has(code) ? why : `${words[0]?.toUpperCase()}${words.slice(1)}: ${why}`
  return new SandboxError(sandboxRefused(kind, message, data))
}

/** Reports a limit. `why` names the limit and its current use. */
export function resourceLimit(why: string, context: Context, suggestion: string): SandboxError {
  const stop = 'Stop a session that is not needed any more with stop_session'
  return sandboxError('RESOURCE_LIMIT_EXCEEDED', why, context, suggestion, stop)
}

/** `message` is the whole sentence. */
export function wrongArgument(message: string, parameter: string): SandboxError {
  return sandboxError('INVALID_PARAMETER', message, { parameter })
}

export function noSuchSession(sessionId: string): SandboxError {
  const [list, leaveOut] = ['Call get_sessions for those there are', 'Leave session_id out for a new session']
  return sandboxError('SESSION_NOT_FOUND', sessionId, { session_id: sessionId }, list, leaveOut)
}

export function fileFailed(why: string, context: Context): SandboxError {
  return sandboxError('FILE_ACCESS_FAILED', why, context)
}

export function executionFailed(
  what: 'Code' | 'Command',
  why: string,
  context: Context,
  suggestion = 'Look at the output and call again',
): SandboxError {
  const code = what === 'Code' ? 'CODE_EXECUTION_FAILED' : 'COMMAND_EXECUTION_FAILED'
  return sandboxError(code, why, context, suggestion)
}
