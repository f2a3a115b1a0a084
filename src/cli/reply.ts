// The message for a person when a command line is wrong, or a run has failed.

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

export interface Reply {
  readonly exitCode: number
  readonly text: string
}

export async function replyToFailure(error: unknown, program: string): Promise<Reply> {
  if (error instanceof UsageError) return { exitCode: usageMistake, text: await usageText(error, program) }
  const exitCode = exitCodeOf(error)
  const message = errorText(error)
  const stack = error instanceof Error ? error.stack : undefined
  const text = exitCode === internalErrorCode ? `internal error: ${stack ?? message}` : message
  return { exitCode, text: `${program}: ${text.split('\n').map(escapeText).join('\n')}\n` }
}

/** Ends with one command that is right, unless the hint has it. */
async function usageText({ message, command }: UsageError, program: string): Promise<string> {
  const { examples } = await loadCommand(command ?? 'stdio')
  const [first = 'mcps-proxy help'] = message.includes('for example: ') ? [''] : examples
  const example = first && `For example: ${first.replace('mcps-proxy ', `${program} `)}\n`
  return `${program}: ${escapeText(message)}\n${example}`
}

/** By the `code` of the error: the caller's mistake, the world's (ours and the system's codes), or ours. */
function exitCodeOf(error: unknown): number {
  if (error instanceof Failure) return error.exitCode
  if (error instanceof LoginError || error instanceof SecretStoreError) return runTimeFailure
  const code = errorCode(error) ?? ''
  if (code.startsWith('CONFIG_')) return usageMistake
  return /^(?:E[A-Z0-9]+|(?:UPSTREAM|TRANSPORT|FRAME)_\w+)$/.test(code) ? runTimeFailure : internalErrorCode
}
