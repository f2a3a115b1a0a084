// The output of a command that starts nothing: help, version, findings, mistakes.

import { ConfigError, type ConfigErrorCode } from '../config/problems.js'
import { escapeText } from '../text/escape.js'
import { errorCode, errorText } from '../text/error-text.js'
import type { Command } from './args.js'
import type { UsageMistake } from './tokens.js'
import { internalErrorCode } from './endings.js'
import { commandNamed } from './commands.js'
import { helpText } from './help.js'
import { version } from '../version.js'

const runTimeFailure = 1
const usageMistake = 2

/** A text, the stream for it, and the exit code. */
export interface Reply {
  readonly exitCode: number
  readonly stream: 'stdout' | 'stderr'
  readonly text: string
}

/** Requested text goes to stdout, problems to stderr. */
export function replyTo(
  command: Extract<Command, { kind: 'help' | 'version' | 'usage' }>,
  program: string,
): Reply {
  if (command.kind === 'help')
    return { exitCode: 0, stream: 'stdout', text: helpText(program, command.about) }
  if (command.kind === 'version') return { exitCode: 0, stream: 'stdout', text: `${version}\n` }
  return { exitCode: usageMistake, stream: 'stderr', text: usageText(command, program) }
}

/** Ends with one command that is right, unless the hint has it. */
function usageText({ problem, hint, about }: UsageMistake, program: string): string {
  const said = hint === '' ? problem : `${problem}; ${hint}`
  const example = said.includes('for example: ')
    ? ''
    : `For example: ${exampleOf(about, said, program) ?? exampleFor(said, program)}\n`
  return `${program}: ${escapeText(said)}\n${example}`
}

/** Of the command that was typed: the one with an option that the text names, or the first. */
function exampleOf(about: string | undefined, said: string, program: string): string | undefined {
  const examples = commandNamed(about)?.examples ?? []
  const names: readonly string[] = said.match(/--[a-z-]+/g) ?? []
  const example = examples.find((each) => names.some((name) => each.includes(name))) ?? examples[0]
  return example?.replace('mcps-proxy ', `${program} `)
}

function exampleFor(said: string, program: string): string {
  if (said.includes('replay')) return `${program} replay session.jsonl`
  if (said.endsWith(' with add'))
    return `${program} add files -- npx -y @modelcontextprotocol/server-filesystem /tmp`
  if (said.includes('secret')) return `${program} secret set github`
  if (said.includes('--check')) return `${program} check ./mcp.json`
  if (/--(?:url|auth|audience|impersonate)/.test(said))
    return `${program} connect https://SERVICE.run.app/mcp`
  if (/--(?:port|host|allow)/.test(said)) return `${program} http --port 8080`
  return `${program} stdio --config ./mcp.json`
}

/** Why a start or a run failed. */
export function replyToFailure(error: unknown, program: string): Reply {
  const exitCode = exitCodeOf(error)
  const message = errorText(error)
  const stack = error instanceof Error ? error.stack : undefined
  const text = exitCode === internalErrorCode ? `internal error: ${stack ?? message}` : message
  const example = error instanceof ConfigError ? configExample(error, program) : ''
  return {
    exitCode,
    stream: 'stderr',
    text: `${program}: ${text.split('\n').map(escapeText).join('\n')}\n${example}`,
  }
}

/** One example that is right, as behind a wrong option. */
function configExample({ code, source, message }: ConfigError, program: string): string {
  // A problem of one place says what would be right there.
  const isOption = source.startsWith('--')
  const isOfPart = code === 'CONFIG_INVALID' && !isOption && !message.includes('{ … }')
  if (isOfPart || message.toLowerCase().includes('for example: ')) return ''
  return `For example: ${isOption ? `${program} --stdio ${source} session.jsonl` : configExamples[code]}\n`
}

const check = 'mcps-proxy check ./mcp.json'
const file =
  '{ "mcpServers": { "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"] } } }'

const configExamples: Readonly<Record<ConfigErrorCode, string>> = {
  CONFIG_NOT_FOUND: check,
  CONFIG_NOT_A_FILE: check,
  CONFIG_UNREADABLE: check,
  CONFIG_TOO_LARGE: file,
  CONFIG_NOT_JSON: file,
  CONFIG_INVALID: file,
  CONFIG_SCHEMA: 'mcps-proxy stdio --schema NAME',
  CONFIG_SERVER: 'mcps-proxy stdio --server NAME',
  CONFIG_PROFILE: 'mcps-proxy stdio --profile NAME',
  CONFIG_LOOP: 'mcps-proxy --stdio --config ./other.json',
}

/** By the `code` of the error: the caller's mistake, the world's (ours and the system's codes), or ours. */
function exitCodeOf(error: unknown): number {
  const code = errorCode(error) ?? ''
  if (code.startsWith('CONFIG_')) return usageMistake
  return /^(?:E[A-Z0-9]+|(?:UPSTREAM|TRANSPORT|FRAME)_\w+)$/.test(code) ? runTimeFailure : internalErrorCode
}
