// What a client is told when a call of a sandbox cannot be done.
//
// Clients show the message and hide the data, so that everything a model needs stands in the message.

import type { ErrorBody } from '../jsonrpc/build.js'
import { type SandboxRefusal, sandboxRefused } from '../mcp/error-codes.js'

interface ErrorFacts {
  readonly error_code: string
  readonly category: 'configuration' | 'resource' | 'network' | 'execution' | 'session' | 'system'
  readonly severity: 'low' | 'medium' | 'high' | 'critical'
  readonly recovery_suggestions: readonly string[]
  readonly context: Readonly<Record<string, unknown>>
}

type Context = ErrorFacts['context']

/** A call that cannot be done; `body` is its answer. */
export class SandboxError extends Error {
  override readonly name = 'SandboxError'
  readonly body: ErrorBody

  constructor(body: ErrorBody) {
    super(body.message)
    this.body = body
  }
}

function refused(kind: SandboxRefusal, message: string, facts: ErrorFacts): SandboxError {
  return new SandboxError(sandboxRefused(kind, message, { ...facts }))
}

/** No room; `why` names the limit and how much of it is in use. */
export function resourceLimit(why: string, context: Context, suggestion: string): SandboxError {
  return refused('refused', `Resource limit exceeded: ${why}`, {
    error_code: 'RESOURCE_LIMIT_EXCEEDED',
    category: 'resource',
    severity: 'medium',
    recovery_suggestions: [suggestion, 'Stop a session that is not needed any more with stop_session'],
    context,
  })
}

/** `message` is the whole sentence. */
export function wrongArgument(message: string, parameter: string): SandboxError {
  return refused('arguments', message, {
    error_code: 'INVALID_PARAMETER',
    category: 'execution',
    severity: 'low',
    recovery_suggestions: ['Correct the parameter and call again'],
    context: { parameter },
  })
}

export function noSuchSession(sessionId: string): SandboxError {
  return refused('arguments', `Session not found: ${sessionId}`, {
    error_code: 'SESSION_NOT_FOUND',
    category: 'session',
    severity: 'low',
    recovery_suggestions: ['Call get_sessions for those there are', 'Leave session_id out for a new session'],
    context: { session_id: sessionId },
  })
}

export function templateMismatch(sessionId: string, has: string, wanted: string): SandboxError {
  const message = `Session ${sessionId} has the template '${has}' and not '${wanted}'`
  return refused('arguments', message, {
    error_code: 'TEMPLATE_MISMATCH',
    category: 'session',
    severity: 'low',
    recovery_suggestions: [`Call with the template '${has}'`, 'Use another session_id for another template'],
    context: { session_id: sessionId, template: has, requested_template: wanted },
  })
}

export function fileFailed(why: string, context: Context): SandboxError {
  return refused('failed', `File access failed: ${why}`, {
    error_code: 'FILE_ACCESS_FAILED',
    category: 'execution',
    severity: 'low',
    recovery_suggestions: ['Call list_files for what there is'],
    context,
  })
}

/** What the configuration names cannot be used. */
export function configurationError(why: string, context: Context): SandboxError {
  return refused('failed', `Configuration error: ${why}`, {
    error_code: 'CONFIGURATION_ERROR',
    category: 'configuration',
    severity: 'high',
    recovery_suggestions: ['Correct the configuration of the sandbox'],
    context,
  })
}

export function creationFailed(why: string, context: Context): SandboxError {
  return refused('failed', `Sandbox creation failed: ${why}`, {
    error_code: 'SANDBOX_CREATION_FAILED',
    category: 'system',
    severity: 'high',
    recovery_suggestions: ['Call again', 'Look at what mcps-proxy sandbox --check says'],
    context,
  })
}

export function connectionFailed(why: string, context: Context): SandboxError {
  return refused('failed', `Connection error: ${why}`, {
    error_code: 'CONNECTION_ERROR',
    category: 'network',
    severity: 'high',
    recovery_suggestions: ['Check that the sandbox server runs, and its address and key'],
    context,
  })
}

/** `what` was called: code or a command. */
export function executionFailed(
  what: 'Code' | 'Command',
  why: string,
  context: Context,
  suggestion = 'Look at the output and call again',
): SandboxError {
  return refused('failed', `${what} execution failed: ${why}`, {
    error_code: `${what.toUpperCase()}_EXECUTION_FAILED`,
    category: 'execution',
    severity: 'medium',
    recovery_suggestions: [suggestion],
    context,
  })
}

/** A fault of the service itself. */
export function wrapperError(): SandboxError {
  return refused('failed', 'Wrapper error: internal fault', {
    error_code: 'WRAPPER_ERROR',
    category: 'system',
    severity: 'critical',
    recovery_suggestions: ['Look at the log of the server'],
    context: {},
  })
}
