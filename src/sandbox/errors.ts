// The errors of sandbox calls.
//
// Clients show the message and hide the data, so the message carries everything that a model needs.

import type { ErrorBody } from '../jsonrpc/build.js'
import { type SandboxRefusal, sandboxRefused } from '../mcp/error-codes.js'

type Context = Readonly<Record<string, unknown>>

/** A call that cannot be done; `body` is the error of the response. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly body: ErrorBody

  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

type Category = 'configuration' | 'resource' | 'network' | 'execution' | 'session' | 'system'

/** The kind of response, the category and the severity, by `error_code`. */
const facts = {
  RESOURCE_LIMIT_EXCEEDED: ['refused', 'resource', 'medium'],
  INVALID_PARAMETER: ['arguments', 'execution', 'low'],
  SESSION_NOT_FOUND: ['arguments', 'session', 'low'],
  TEMPLATE_MISMATCH: ['arguments', 'session', 'low'],
  FILE_ACCESS_FAILED: ['failed', 'execution', 'low'],
  CONFIGURATION_ERROR: ['failed', 'configuration', 'high'],
  SANDBOX_CREATION_FAILED: ['failed', 'system', 'high'],
  CONNECTION_ERROR: ['failed', 'network', 'high'],
  CODE_EXECUTION_FAILED: ['failed', 'execution', 'medium'],
  COMMAND_EXECUTION_FAILED: ['failed', 'execution', 'medium'],
  WRAPPER_ERROR: ['failed', 'system', 'critical'],
} as const satisfies Readonly<Record<string, readonly [SandboxRefusal, Category, string]>>

function refused(
  code: keyof typeof facts,
  message: string,
  context: Context,
  ...suggestions: readonly string[]
): SandboxError {
  const [kind, category, severity] = facts[code]
  const data = { error_code: code, category, severity, recovery_suggestions: suggestions, context }
  return new SandboxError(sandboxRefused(kind, message, data))
}

/** Reports a limit; `why` names the limit and its current use. */
export function resourceLimit(why: string, context: Context, suggestion: string): SandboxError {
  const stop = 'Stop a session that is not needed any more with stop_session'
  return refused('RESOURCE_LIMIT_EXCEEDED', `Resource limit exceeded: ${why}`, context, suggestion, stop)
}

/** `message` is the whole sentence. */
export function wrongArgument(message: string, parameter: string): SandboxError {
  return refused('INVALID_PARAMETER', message, { parameter }, 'Correct the parameter and call again')
}

export function noSuchSession(sessionId: string): SandboxError {
  return refused(
    'SESSION_NOT_FOUND',
    `Session not found: ${sessionId}`,
    { session_id: sessionId },
    'Call get_sessions for those there are',
    'Leave session_id out for a new session',
  )
}

export function templateMismatch(sessionId: string, has: string, wanted: string): SandboxError {
  return refused(
    'TEMPLATE_MISMATCH',
    `Session ${sessionId} has the template '${has}' and not '${wanted}'`,
    { session_id: sessionId, template: has, requested_template: wanted },
    `Call with the template '${has}'`,
    'Use another session_id for another template',
  )
}

export function fileFailed(why: string, context: Context): SandboxError {
  const list = 'Call list_files for what there is'
  return refused('FILE_ACCESS_FAILED', `File access failed: ${why}`, context, list)
}

/** Reports that a value of the configuration cannot be used. */
export function configurationError(why: string, context: Context): SandboxError {
  const correct = 'Correct the configuration of the sandbox'
  return refused('CONFIGURATION_ERROR', `Configuration error: ${why}`, context, correct)
}

export function creationFailed(why: string, context: Context): SandboxError {
  const message = `Sandbox creation failed: ${why}`
  const look = 'Look at what mcps-proxy sandbox --check says'
  return refused('SANDBOX_CREATION_FAILED', message, context, 'Call again', look)
}

export function connectionFailed(why: string, context: Context): SandboxError {
  const check = 'Check that the sandbox server runs, and its address and key'
  return refused('CONNECTION_ERROR', `Connection error: ${why}`, context, check)
}

export function executionFailed(
  what: 'Code' | 'Command',
  why: string,
  context: Context,
  suggestion = 'Look at the output and call again',
): SandboxError {
  const code = what === 'Code' ? 'CODE_EXECUTION_FAILED' : 'COMMAND_EXECUTION_FAILED'
  return refused(code, `${what} execution failed: ${why}`, context, suggestion)
}

/** Reports a fault of the service itself. */
export function wrapperError(): SandboxError {
  return refused('WRAPPER_ERROR', 'Wrapper error: internal fault', {}, 'Look at the log of the server')
}
