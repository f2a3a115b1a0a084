// The command line -> what to do. Pure: nothing is read or started here.

import { type AskCommand, type DoctorCommand, askOf } from './ask-options.js'
import { type EditCommand, editOf, mistakeInCommand } from './edit-options.js'
import { type ImportCommand, importOf } from './import-options.js'
import { type LockCommand, lockCommandOf } from './lock-options.js'
import { type LoginCommand, loginCommandOf } from './login-options.js'
import { millisecondsOf, timeoutMsMax } from './milliseconds.js'
import { commandNameOf, commandNames, options, optionsOfCommands, spelled } from './options.js'
import type { CommandName, Option } from './options.js'
import { nearest } from '../text/nearest.js'
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

type Read = (line: CommandLine) => Command

const serving =
  (read: Read): Read =>
  (line) =>
    mistakeInServing(line) ?? read(line)

const readers: Readonly<Record<CommandName, Read>> = {
  stdio: serving(stdioOf),
  http: serving(httpOf),
  connect: serving(stdioOf),
  check: serving(checkOf),
  sandbox: serving(sandboxOf),
  doctor: askOf,
  list: askOf,
  tools: askOf,
  call: askOf,
  read: askOf,
  prompt: askOf,
  add: editOf,
  remove: editOf,
  enable: editOf,
  disable: editOf,
  login: loginCommandOf,
  logins: loginCommandOf,
  logout: loginCommandOf,
  status: statusCommandOf,
  secret: secretOf,
  token: tokenOf,
  import: importOf,
  lock: lockCommandOf,
  replay: replayOf,
}

export function parseArguments(argv: readonly string[]): Command {
  const command = commandIn(argv)
  const about = commandNameOf(argv[0])
  return command.kind === 'usage' && about !== undefined ? { ...command, about } : command
}

function commandIn(argv: readonly string[]): Command {
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
  if (line.values.has('help'))
    return helpAbout(line.command ?? word ?? (line.values.has('url') ? 'connect' : undefined))
  if (line.values.has('version')) return { kind: 'version' }
  return mistakeInOptions(line) ?? mistakeInValues(line) ?? readers[commandOf(line) ?? 'http'](line)
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

function helpAbout(name: string | undefined): Command {
  if (name === undefined || name === 'help') return { kind: 'help' }
  const about = commandNameOf(name)
  if (about !== undefined) return { kind: 'help', about }
  const option = options.find((each) => each.name === name)
  const [first] = option?.commands ?? []
  if (first !== undefined)
    return {
      ...usage(
        `"${name}" is no command`,
        `it is an option: mcps-proxy help ${first} explains ${spelled(name)}`,
      ),
      about: first,
    }
  const [near] = nearest(name, commandNames)
  const hint = near === undefined ? 'mcps-proxy help names them all' : `did you mean ${near}?`
  return usage(`no command is called "${name}"`, hint)
}

/** Also where an option means it, as in the older spellings. */
function commandOf({ command, values }: CommandLine): CommandName | undefined {
  if (command !== 'sandbox' && command !== 'lock' && values.has('check')) return 'check'
  const named = command ?? (['http', 'stdio'] as const).find((name) => values.has(name))
  return values.has('url') && (named ?? 'stdio') === 'stdio' ? 'connect' : named
}

function mistakeInOptions(line: CommandLine): UsageMistake | undefined {
  const { values } = line
  const command = commandOf(line)
  const isOf = ({ commands }: Option): boolean => commands.includes(command ?? 'http')
  if (asksFor(line, 'stdio') && asksFor(line, 'http'))
    return usage('--stdio and --http cannot be used together', 'choose one')
  const stray = options.find((option) => values.has(option.name) && !isOf(option))
  const isForStdio = command === undefined || command === 'http' || command === 'check'
  if (values.has('schema') && isForStdio && !asksFor(line, 'stdio'))
    return usage('--schema works only with --stdio', 'for example: mcps-proxy --stdio --schema=workspace')
  if ((line.lists.get('profile')?.length ?? 0) > 1 && command !== 'token')
    return usage('--profile was given twice', 'keep one')
  if (values.has('profile') && (values.has('schema') || values.has('server')))
    return usage('--profile cannot be used with --schema or --server', 'a profile names its servers')
  if (stray === undefined) return undefined
  const name = spelled(stray.name)
  const fits = stray.commands.map(asTyped)
  return command !== undefined && fits.length > 1
    ? usage(`${name} cannot be used with ${asTyped(command)}`)
    : usage(`${name} works only with ${fits.join(' or ')}`)
}

/** Commands that can be written as options are called by those. */
function asTyped(command: CommandName): string {
  return command === 'stdio' || command === 'http'
    ? `--${command}`
    : (optionsOfCommands.get(command) ?? command)
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
  if (commandOf(line) !== 'stdio' && commandOf(line) !== 'connect' && (values.get('ui') ?? '') !== '')
    return usage('--ui takes a port only with stdio', 'with http the page is at /ui on the port of the front')
  if (values.has('silent') && values.has('verbose'))
    return usage('--silent and --verbose cannot be used together', 'choose one')
  if (values.has('verbose') && level !== undefined && level !== 'debug')
    return usage(`--verbose and --log-level ${level} cannot be used together`, 'choose one')
  return undefined
}
