// The names of all commands, and the spellings of earlier versions. Every start reads a command line with these; the table of
// the one command that is meant is loaded then.

import { nearest } from '../text/nearest.js'

export const commandNames = [
  'stdio',
  'http',
  'connect',
  'sandbox',
  'import',
  'add',
  'remove',
  'enable',
  'disable',
  'login',
  'logins',
  'logout',
  'secret',
  'token',
  'check',
  'doctor',
  'lock',
  'list',
  'tools',
  'call',
  'read',
  'prompt',
  'status',
  'replay',
  'completion',
] as const

export type CommandName = (typeof commandNames)[number]

export function commandNameOf(word: string | undefined): CommandName | undefined {
  return commandNames.find((name) => name === word)
}

/** Earlier versions had options in the place of these commands. */
export const olderSpellings: readonly (readonly [option: string, command: CommandName])[] = [
  ['--check', 'check'],
  ['--url', 'connect'],
  ['--stdio', 'stdio'],
  ['--http', 'http'],
]

export interface NamedCommand {
  readonly name: CommandName
  /** The arguments of the command. */
  readonly argv: readonly string[]
  /** Whether the command line names it; without a name the gateway starts. */
  readonly isNamed: boolean
}

/** Undefined where the first word is no command. */
export function commandIn(argv: readonly string[]): NamedCommand | undefined {
  const [first = '', ...behind] = argv
  const name = commandNameOf(first)
  // `mcps-proxy stdio --url URL` connects, too.
  if (name !== undefined && name !== 'stdio') return { name, argv: behind, isNamed: true }
  if (name === undefined && first !== '' && !first.startsWith('-')) return undefined
  const [own, rest] = split(name === undefined ? argv : ['--stdio', ...behind])
  for (const [option, command] of olderSpellings) {
    const at = own.findIndex((word) => word === option || word.startsWith(`${option}=`))
    if (at < 0) continue
    const written = own[at] ?? ''
    const value = written === option ? [] : [written.slice(option.length + 1)]
    const others = [...own.slice(0, at), ...value, ...own.slice(at + 1)]
    return { name: command, argv: [...withoutMode(command, others), ...rest], isNamed: true }
  }
  return { name: 'http', argv, isNamed: false }
}

function split(argv: readonly string[]): [own: readonly string[], rest: readonly string[]] {
  const end = argv.indexOf('--')
  return end < 0 ? [argv, []] : [argv.slice(0, end), argv.slice(end)]
}

/** `check` keeps the mode that it checks for. */
function withoutMode(command: CommandName, words: readonly string[]): readonly string[] {
  return command === 'check' ? words : words.filter((word) => word !== '--stdio')
}

/** The command that may be meant by an unknown word. */
export function commandHint(word: string): string {
  const [near] = word === 'resources' ? (['read'] as const) : nearest(word, commandNames)
  return near === undefined ? 'mcps-proxy help names them all' : `did you mean ${near}?`
}
