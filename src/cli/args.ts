// The command line -> what to do. Pure: nothing is read or started here.

import { type AskCommand, type DoctorCommand, askOf, asks } from './ask-options.js'
import { type EditCommand, editOf, mistakeInCommand } from './edit-options.js'
import { type ImportCommand, importOf } from './import-options.js'
import { type LockCommand, lockCommandOf } from './lock-options.js'
import { type LoginCommand, loginCommandOf } from './login-options.js'
import { millisecondsOf, timeoutMsMax } from './milliseconds.js'
import { commandModes, commandNameOf, options, optionsOfCommands, spelled } from './options.js'
import type { CommandMode } from './options.js'
import { mistakeInRemote } from './remote-options.js'
import { type ReplayCommand, replayOf } from './replay-options.js'
import { type SecretCommand, secretOf } from './secret-options.js'
import {
  type CheckCommand,
  type HttpCommand,
  type SandboxCommand,
  type StdioCommand,
  PORT_MAX,
  asksFor,
  checkOf,
  httpOf,
  logLevelOf,
  mistakeInServing,
  portOf,
  uiPortOf,
  runtimeNames,
  runtimeOf,
  sandboxOf,
  stdioOf,
} from './serve-options.js'
import { type StatusCommand, statusCommandOf } from './status-options.js'
import { type TokenCommand, tokenOf } from './token-options.js'
import { readCommandLine, usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

/** The parsed command line. */
export type Command =
  | StdioCommand
  | HttpCommand
  | CheckCommand
  | ReplayCommand
  | SandboxCommand
  | AskCommand
  | EditCommand
  | DoctorCommand
  | StatusCommand
  | SecretCommand
  | LoginCommand
  | LockCommand
  | TokenCommand
  | ImportCommand
  /** Of one command where it is named. */
  | { readonly kind: 'help'; readonly about?: string }
  | { readonly kind: 'version' }
  | UsageMistake

/** A way to use the program. */
interface Mode {
  /** As messages call it. */
  readonly name: string
  readonly read: (line: CommandLine) => Command
}

const serves = (name: string, read: Mode['read']): Mode => ({
  name,
  read: (line) => mistakeInServing(line) ?? read(line),
})

const modes: Readonly<Record<CommandMode, Mode>> = {
  stdio: serves('--stdio', stdioOf),
  http: serves('--http', httpOf),
  url: serves('--url', stdioOf),
  check: serves('--check', checkOf),
  sandbox: serves('sandbox', sandboxOf),
  ask: { name: asks.join(', '), read: askOf },
  edit: { name: 'add', read: editOf },
  status: { name: 'status', read: statusCommandOf },
  secret: { name: 'secret', read: secretOf },
  token: { name: 'token', read: tokenOf },
  import: { name: 'import', read: importOf },
  login: { name: 'login', read: loginCommandOf },
  lock: { name: 'lock', read: lockCommandOf },
  replay: { name: 'replay', read: replayOf },
}

export function parseArguments(argv: readonly string[]): Command {
  const [first = '', second] = argv
  const older = optionsOfCommands.get(first)
  if (older !== undefined && isHelp(second)) return { kind: 'help', about: first }
  if (first === 'connect' && (second === undefined || second.startsWith('-')))
    return usage('connect needs the address of a server', 'for example: mcps-proxy connect https://h/mcp')
  const mistake = mistakeInCommand(argv)
  if (mistake !== undefined) return mistake
  const line = readCommandLine(older === undefined ? argv : [older, ...argv.slice(1)])
  if (line.kind === 'usage') return line
  const [word, about] = line.words
  if (word === 'help') return helpAbout(about)
  if (line.values.has('help')) return helpAbout(line.command ?? word)
  if (line.values.has('version')) return { kind: 'version' }
  return mistakeInModes(line) ?? mistakeInValues(line) ?? modes[modeOf(line) ?? 'http'].read(line)
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

function helpAbout(name: string | undefined): Command {
  const about = commandNameOf(name)
  return about === undefined ? { kind: 'help' } : { kind: 'help', about }
}

function modeOf({ command, values }: CommandLine): CommandMode | undefined {
  const own = command && commandModes[command]
  if (own !== 'sandbox' && own !== 'lock' && values.has('check')) return 'check'
  return own ?? (['stdio', 'http', 'url'] as const).find((mode) => values.has(mode))
}

function mistakeInModes(line: CommandLine): UsageMistake | undefined {
  const { values } = line
  const mode = modeOf(line)
  if (asksFor(line, 'stdio') && asksFor(line, 'http'))
    return usage('--stdio and --http cannot be used together', 'choose one')
  if (values.has('schema') && !asksFor(line, 'stdio') && (mode === 'check' || !isOptionOf(mode, 'schema')))
    return usage('--schema works only with --stdio', 'for example: mcps-proxy --stdio --schema=workspace')
  if ((line.lists.get('profile')?.length ?? 0) > 1 && mode !== 'token')
    return usage('--profile was given twice', 'keep one')
  if (values.has('profile') && (values.has('schema') || values.has('server')))
    return usage('--profile cannot be used with --schema or --server', 'a profile names its servers')
  const stray = options.find(({ name, modes: fit }) => values.has(name) && !fit.includes(mode ?? 'http'))
  if (stray === undefined) return undefined
  const name = spelled(stray.name)
  if (mode !== undefined) return usage(`${name} cannot be used with ${modes[mode].name}`)
  return usage(`${name} works only with ${stray.modes.map((each) => modes[each].name).join(' or ')}`)
}

function isOptionOf(mode: CommandMode | undefined, name: string): boolean {
  return options.some((option) => option.name === name && option.modes.includes(mode ?? 'http'))
}

/** Options whose value has a form, with the form in words. */
const forms: readonly (readonly [name: string, read: (text: string) => unknown, must: string])[] = [
  ['timeout', millisecondsOf, `a number of milliseconds from 1 to ${timeoutMsMax}`],
  ['port', portOf, `a number from 0 to ${PORT_MAX}`],
  ['ui', uiPortOf, `a number from 0 to ${PORT_MAX}, or nothing`],
  ['runtime', runtimeOf, `one of ${runtimeNames.join(', ')}`],
  ['log-level', logLevelOf, 'error, warn, info or debug'],
]

function mistakeInValues(line: CommandLine): UsageMistake | undefined {
  const { values } = line
  const remote = mistakeInRemote(line)
  if (remote !== undefined) return remote
  for (const [name, read, must] of forms) {
    const value = values.get(name)
    if (value !== undefined && read(value) === undefined)
      return usage(`--${name} is "${value}"`, `it must be ${must}`)
  }
  const level = values.get('log-level')
  if (modeOf(line) !== 'stdio' && modeOf(line) !== 'url' && (values.get('ui') ?? '') !== '')
    return usage('--ui takes a port only with stdio', 'with http the page is at /ui on the port of the front')
  if (values.has('silent') && values.has('verbose'))
    return usage('--silent and --verbose cannot be used together', 'choose one')
  if (values.has('verbose') && level !== undefined && level !== 'debug')
    return usage(`--verbose and --log-level ${level} cannot be used together`, 'choose one')
  return undefined
}
