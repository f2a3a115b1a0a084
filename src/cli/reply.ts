// The message for a person after a wrong command line or a failed run.

import { escapeText } from '../text/escape.js'
import { errorCode, errorText } from '../text/error-text.js'
import { LoginError } from '../login/login-error.js'
import { SecretStoreError } from '../secrets/store.js'
import { UsageError } from './command-line.js'
import { loadCommand } from './commands.js'
import { Failure } from './console.js'
import { internalErrorCode } from './shutdown.js'

const runTimeFailure = 1
const usageMistake = 2

export async function replyToFailure(
  error: unknown,
  program: string,
): Promise<{ readonly exitCode: number; readonly text: string }> {
  if (error instanceof UsageError) return { exitCode: usageMistake, text: await usageText(error, program) }
  const exitCode = exitCodeOf(error)
  const message = errorText(error)
  const stack = error instanceof Error ? error.stack : undefined
  const text = exitCode === internalErrorCode ? `internal error: ${stack ?? message}` : message
  return { exitCode, text: `${program}: ${text.split('\n').map(escapeText).join('\n')}\n` }
}

/** Ends with an example of the command, unless the hint has one or no command is known. */
async function usageText({ message, command }: UsageError, program: string): Promise<string> {
  const text = `${program}: ${escapeText(message)}\n`
  if (command === undefined || message.includes('for example: ')) return text
  const [example = ''] = (await loadCommand(command)).examples
  return `${text}For example: ${example.replace('mcps-proxy ', `${program} `)}\n`
}

/** By the error's `code`: the user's mistake, a failure (codes of the proxy or the system), or an internal fault. */
function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode
  if (error instanceof LoginError || error instanceof SecretStoreError) return runTimeFailure
  const code = errorCode(error) ?? ''
  if (code.startsWith('CONFIG_')) return usageMistake
  return /^(?:E[A-Z0-9]+|(?:UPSTREAM|TRANSPORT|FRAME)_\w+)$/.test(code) ? runTimeFailure : internalErrorCode
}
