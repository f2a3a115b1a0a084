// What the program answers when it does not start: help, version, findings, mistakes.

import { escapeText } from '../log.js'
import type { Command } from './args.js'
import type { Usage } from './tokens.js'
import { internalErrorCode } from './endings.js'
import { helpText } from './help.js'
import { version } from '../version.js'

const runTimeFailure = 1
const usageMistake = 2

/** What to say where, and the exit code that goes with it. */
export interface Reply {
  readonly exitCode: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

/** What was asked for goes to stdout, what is wrong to stderr. */
export function replyTo(
  command: Exclude<Command, { kind: 'stdio' | 'http' | 'replay' | 'check' }>,
  program: string,
): Reply {
  switch (command.kind) {
    case 'help':
      return { exitCode: 0, stream: 'stdout', text: helpText(program) }
    case 'version':
      return { exitCode: 0, stream: 'stdout', text: `${version}\n` }
    case 'usage':
      break
  }
  return { exitCode: usageMistake, stream: 'stderr', text: usageText(command, program) }
}

function usageText({ problem, hint }: Usage, program: string): string {
  return `${program}: ${escapeText(hint === '' ? problem : `${problem}; ${hint}`)}\n`
}

/** Why a start or a run failed. */
export function replyToFailure(error: unknown, program: string): Reply {
  const exitCode = exitCodeOf(error)
  const message = error instanceof Error ? error.message : String(error)
  const stack = error instanceof Error ? error.stack : undefined
  const text = exitCode === internalErrorCode ? `internal error: ${stack ?? message}` : message
  return { exitCode, stream: 'stderr', text: `${program}: ${text.split('\n').map(escapeText).join('\n')}\n` }
}

/** By the `code` of the error: the caller's mistake, the world's (ours and the system's codes), or ours. */
function exitCodeOf(error: unknown): number {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (code.startsWith('CONFIG_')) return usageMistake
  return /^(?:E[A-Z0-9]+|(?:UPSTREAM|TRANSPORT|FRAME)_\w+)$/.test(code) ? runTimeFailure : internalErrorCode
}
