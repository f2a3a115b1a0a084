// The command line -> what to do. Pure: nothing is read or started here.

import type { LogLevel } from '../runtime/runtime.js'
import { nearest } from '../text/nearest.js'
import type { RemoteServer } from '../proxy/remote.js'
import type { SandboxRuntimeName } from '../upstream/contracts/sandbox-config.js'
import type { AskCommand } from './ask.js'
import type { EditCommand } from './edit.js'
import { headersOf, mistakeInHeaders } from './header-fields.js'
import { millisecondsOf, timeoutMsMax } from './milliseconds.js'
import { commandNames, options, spelled } from './options.js'
import type { CommandMode } from './options.js'
import { mistakeInRemote, remoteOf } from './remote-options.js'
import { mistakeInReplay, replayOf } from './replay-options.js'
import type { ReplayCommand } from './replay-options.js'
import type { ServeOptions } from './run.js'
import type { StatusCommand } from './status.js'
import { type LoginCommand, loginCommands, loginOf } from './login-options.js'
import { type SecretCommand, secretOf } from './secret-options.js'
import { type TokenCommand, tokenOf } from './token-options.js'
import { type ImportCommand, importOf } from './import-options.js'
import { readTokens, usage } from './tokens.js'
import type { Tokens, Usage } from './tokens.js'

/** Serve one schema on stdin and stdout. */
export interface StdioCommand extends ServeOptions {
  readonly kind: 'stdio'
  readonly schema: string
  /** The one server of the schema that is served, under its own names; undefined is all. */
  readonly server: string | undefined
  /** The profile that is served, in place of a schema. */
  readonly profile: string | undefined
  /** The one server behind this process, instead of a configuration. */
  readonly remote: RemoteServer | undefined
}

/** Serve every enabled schema on HTTP; what is undefined is as the configuration says. */
export interface HttpCommand extends ServeOptions {
  readonly kind: 'http'
  /** Whether the mode was asked for, and is not only what no mode means. */
  readonly isNamed: boolean
  readonly port: number | undefined
  readonly host: string | undefined
  readonly allowUnauthenticated: boolean
}

export interface CheckCommand {
  readonly kind: 'check'
  readonly config: string | undefined
  /** The one that `--stdio` would serve; undefined checks for `--http`. */
  readonly schema: string | undefined
  /** Values that override the configuration for `--http`. */
  readonly host: string | undefined
  readonly allowUnauthenticated: boolean
  /** Whether every server is started too. */
  readonly start: boolean
}

/** Start servers once, and say what they have, or what is wrong with them. */
export interface DoctorCommand {
  readonly kind: 'doctor'
  readonly config: string | undefined
  readonly schema: string
  /** The one server that is meant. */
  readonly name: string | undefined
  /** Whether one line a server is enough. */
  readonly isBrief: boolean
  readonly json: boolean
}

/** Serve a sandbox on HTTP, or on stdin and stdout. */
export interface SandboxCommand {
  readonly kind: 'sandbox'
  /** Whether it only says which runtimes can be used. */
  readonly check: boolean
  readonly serve: StdioCommand | HttpCommand
  readonly enablesCors: boolean
  readonly runtime: SandboxRuntimeName | undefined
}

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
  | TokenCommand
  | ImportCommand
  /** Of one command where it is named. */
  | { readonly kind: 'help'; readonly about?: string }
  | { readonly kind: 'version' }
  | Usage

const asks = ['doctor', 'list', 'tools', 'call', 'read', 'prompt'] as const
const edits = ['add', 'remove', 'enable', 'disable'] as const

/** The options that some commands stand for. */
const olderSpelling: ReadonlyMap<string, string> = new Map([
  ['check', '--check'],
  ['connect', '--url'],
])
const PORT_MAX = 65_535
const runtimeNames = ['auto', 'bubblewrap', 'container', 'microsandbox-server'] as const

export function parseArguments(argv: readonly string[]): Command {
  const [first = '', second] = argv
  const older = olderSpelling.get(first)
  if (older !== undefined && isHelp(second)) return { kind: 'help', about: first }
  if (first === 'connect' && (second === undefined || second.startsWith('-')))
    return usage('connect needs the address of a server', 'for example: mcps-proxy connect https://h/mcp')
  const tokens = readTokens(older === undefined ? argv : [older, ...argv.slice(1)])
  if (tokens.kind === 'usage') return tokens
  const [word, about] = tokens.words
  if (word === 'help') return helpAbout(about)
  if (tokens.values.has('help')) return helpAbout(word)
  if (tokens.values.has('version')) return { kind: 'version' }
  return mistakeInModes(tokens) ?? mistakeInWords(tokens) ?? mistakeInValues(tokens) ?? commandOf(tokens)
}

function isHelp(word: string | undefined): boolean {
  return word === '--help' || word === '-h'
}

function helpAbout(name: string | undefined): Command {
  const about = commandNames.find((each) => each === name)
  return about === undefined ? { kind: 'help' } : { kind: 'help', about }
}

/** The command as the first word. */
function subCommandOf({ words }: Tokens): string | undefined {
  const [first] = words
  return commandNames.find((name) => name === first && !olderSpelling.has(name))
}

function askOf(tokens: Tokens): (typeof asks)[number] | undefined {
  return asks.find((name) => name === subCommandOf(tokens))
}

function editOf(tokens: Tokens): (typeof edits)[number] | undefined {
  return edits.find((name) => name === subCommandOf(tokens))
}

function loginWord(tokens: Tokens): LoginCommand['what'] | undefined {
  return loginCommands.find((name) => name === subCommandOf(tokens))
}

function asksFor(tokens: Tokens, mode: 'stdio' | 'http'): boolean {
  return tokens.values.has(mode) || subCommandOf(tokens) === mode
}

function modeOf(tokens: Tokens): CommandMode | undefined {
  if (subCommandOf(tokens) === 'sandbox') return 'sandbox'
  if (tokens.values.has('check')) return 'check'
  if (subCommandOf(tokens) === 'replay') return 'replay'
  if (askOf(tokens) !== undefined) return 'ask'
  if (editOf(tokens) !== undefined) return 'edit'
  if (subCommandOf(tokens) === 'status') return 'status'
  if (subCommandOf(tokens) === 'secret') return 'secret'
  if (loginWord(tokens) !== undefined) return 'login'
  if (subCommandOf(tokens) === 'token') return 'token'
  if (subCommandOf(tokens) === 'import') return 'import'
  if (asksFor(tokens, 'stdio')) return 'stdio'
  if (asksFor(tokens, 'http')) return 'http'
  return tokens.values.has('url') ? 'url' : undefined
}

function mistakeInModes(tokens: Tokens): Usage | undefined {
  const { values } = tokens
  const mode = modeOf(tokens)
  if (asksFor(tokens, 'stdio') && asksFor(tokens, 'http'))
    return usage('--stdio and --http cannot be used together', 'choose one')
  if (
    values.has('schema') &&
    !asksFor(tokens, 'stdio') &&
    mode !== 'ask' &&
    mode !== 'edit' &&
    mode !== 'login'
  )
    return usage('--schema works only with --stdio', 'for example: mcps-proxy --stdio --schema=workspace')
  if ((tokens.lists.get('profile')?.length ?? 0) > 1 && mode !== 'token')
    return usage('--profile was given twice', 'keep one')
  if (values.has('profile') && (values.has('schema') || values.has('server')))
    return usage('--profile cannot be used with --schema or --server', 'a profile names its servers')
  const stray = options.find(({ name, modes }) => values.has(name) && !modes.includes(mode ?? 'http'))
  if (stray === undefined) return undefined
  const name = spelled(stray.name)
  if (mode === undefined) return usage(`${name} works only with ${stray.modes.map(nameOf).join(' or ')}`)
  return usage(`${name} cannot be used with ${nameOf(mode)}`)
}

function nameOf(mode: CommandMode): string {
  if (mode === 'ask') return asks.join(', ')
  if (mode === 'edit') return 'add'
  const commands: readonly string[] = ['replay', 'sandbox', 'status', 'secret', 'token', 'import', 'login']
  return commands.includes(mode) ? mode : spelled(mode)
}

function mistakeInWords(tokens: Tokens): Usage | undefined {
  const { rest, values } = tokens
  const mode = modeOf(tokens)
  if (mode === 'secret' || mode === 'token' || mode === 'import' || mode === 'login') return undefined
  if (mode === 'ask') return mistakeInAsk(tokens)
  if (mode === 'edit') return mistakeInEdit(tokens)
  if (mode === 'status') return mistakeInStatus(tokens)
  const [stray] = mode === 'replay' ? [] : wordsBehindMode(tokens).slice(isFileOfCheck(tokens) ? 1 : 0)
  if (stray !== undefined) return unexpected(stray)
  if (rest !== undefined && mode !== 'replay')
    return usage(
      'only replay takes a command after --',
      'for example: mcps-proxy replay FILE.jsonl -- COMMAND',
    )
  if (checkedFileOf(tokens) !== undefined && values.has('config'))
    return usage('--check FILE and --config cannot be used together', 'name the file once')
  return mode === 'replay' ? mistakeInReplay(tokens) : undefined
}

/** The arguments that each of these commands needs. */
const missingNames: Readonly<
  Record<(typeof asks)[number], readonly [needs: string, example: string] | undefined>
> = {
  doctor: undefined,
  list: undefined,
  tools: undefined,
  call: ['the name of a tool', 'mcps-proxy call Time__get_current_time timezone=Europe/Berlin'],
  read: ['the URI of a resource', 'mcps-proxy read file:///tmp/a.txt'],
  prompt: ['the name of a prompt', 'mcps-proxy prompt github__review branch=main'],
}

function mistakeInAsk(tokens: Tokens): Usage | undefined {
  const what = askOf(tokens) ?? 'tools'
  const [name, stray] = wordsBehindMode(tokens)
  const missing = missingNames[what]
  if (name === undefined && missing !== undefined)
    return usage(`${what} needs ${missing[0]}`, `for example: ${missing[1]}`)
  if (stray !== undefined && what !== 'call' && what !== 'prompt')
    return usage(`unexpected argument "${stray}"`)
  if (tokens.rest !== undefined) return usage(`${what} takes nothing behind --`)
  if ((what === 'doctor' || what === 'list') && tokens.values.has('profile'))
    return usage(`${what} takes no --profile`, 'it is about servers, of which a profile shows a part')
  return undefined
}

const addExample = 'for example: mcps-proxy add files -- npx -y @modelcontextprotocol/server-filesystem /tmp'

function mistakeInEdit(tokens: Tokens): Usage | undefined {
  const what = editOf(tokens)
  const [name, url, stray] = wordsBehindMode(tokens)
  const { rest, values, lists } = tokens
  if (name === undefined) return usage(`${what} needs the name of a server`, what === 'add' ? addExample : '')
  if (stray !== undefined) return usage(`unexpected argument "${stray}"`)
  if (what !== 'add') {
    const given = ['env', 'header', 'force'].find((option) => values.has(option))
    if (given !== undefined) return usage(`--${given} works only with add`)
    return url === undefined && rest === undefined ? undefined : usage(`${what} takes one name`)
  }
  const hasCommand = rest !== undefined && rest.length > 0
  if (hasCommand === (url !== undefined))
    return usage('add needs a command behind --, or an address', addExample)
  if (url !== undefined && !/^https?:\/\//.test(url))
    return usage('the address must begin with http:// or https://', addExample)
  const wrong = (lists.get('env') ?? []).find((each) => !/^[^=]+=/.test(each))
  if (wrong !== undefined) return usage(`--env is "${wrong}"`, 'it must be NAME=VALUE')
  if (hasCommand && values.has('header')) return usage('--header works only with an address')
  const header = mistakeInHeaders(tokens)
  if (header !== undefined) return header
  return url !== undefined && values.has('env') ? usage('--env works only with a command') : undefined
}

function mistakeInStatus(tokens: Tokens): Usage | undefined {
  const [url, stray] = wordsBehindMode(tokens)
  if (stray !== undefined) return usage(`unexpected argument "${stray}"`)
  if (tokens.rest !== undefined) return usage('status takes nothing behind --')
  if (url !== undefined && !(/^https?:\/\//.test(url) && URL.canParse(url)))
    return usage(
      'status takes the address of a gateway',
      'for example: mcps-proxy status http://127.0.0.1:3095',
    )
  return mistakeInHeaders(tokens)
}

function wordsBehindMode(tokens: Tokens): readonly string[] {
  return subCommandOf(tokens) === undefined ? tokens.words : tokens.words.slice(1)
}

/** Whether the first word is the file of `--check`, as in `--check --start FILE`. */
function isFileOfCheck({ values }: Tokens): boolean {
  return values.get('check') === ''
}

function checkedFileOf(tokens: Tokens): string | undefined {
  return isFileOfCheck(tokens) ? wordsBehindMode(tokens)[0] : tokens.values.get('check')
}

function unexpected(word: string): Usage {
  // It may hold a password or a key.
  if (word.includes('://'))
    return usage('unexpected argument that is an address', '--url URL serves a remote server')
  const [near] = nearest(word, commandNames)
  return usage(
    `unexpected argument "${word}"`,
    near === undefined ? 'mcps-proxy --help shows how to start it' : `did you mean ${near}?`,
  )
}

/** Options whose value has a form, with the form in words. */
const forms: readonly (readonly [name: string, read: (text: string) => unknown, must: string])[] = [
  ['timeout', millisecondsOf, `a number of milliseconds from 1 to ${timeoutMsMax}`],
  ['port', portOf, `a number from 0 to ${PORT_MAX}`],
  ['runtime', runtimeOf, `one of ${runtimeNames.join(', ')}`],
  ['log-level', logLevelOf, 'error, warn, info or debug'],
]

function mistakeInValues(tokens: Tokens): Usage | undefined {
  const { values } = tokens
  const remote = mistakeInRemote(tokens)
  if (remote !== undefined) return remote
  for (const [name, read, must] of forms) {
    const value = values.get(name)
    if (value !== undefined && read(value) === undefined)
      return usage(`--${name} is "${value}"`, `it must be ${must}`)
  }
  const level = values.get('log-level')
  if (values.has('silent') && values.has('verbose'))
    return usage('--silent and --verbose cannot be used together', 'choose one')
  if (values.has('verbose') && level !== undefined && level !== 'debug')
    return usage(`--verbose and --log-level ${level} cannot be used together`, 'choose one')
  return undefined
}

function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : PORT_MAX + 1
  return port <= PORT_MAX ? port : undefined
}

function logLevelOf(text: string | undefined): LogLevel | undefined {
  return (['error', 'warn', 'info', 'debug'] as const).find((level) => level === text)
}

function commandOf(tokens: Tokens): Command {
  const mode = modeOf(tokens)
  if (mode === 'check') return checkOf(tokens)
  if (mode === 'replay') return replayOf(tokens)
  if (mode === 'sandbox') return sandboxOf(tokens)
  if (mode === 'ask') return askCommandOf(tokens)
  if (mode === 'edit') return editCommandOf(tokens)
  if (mode === 'status') return statusOf(tokens)
  if (mode === 'token') return tokenOf(wordsBehindMode(tokens), tokens)
  if (mode === 'import') return importOf(wordsBehindMode(tokens), tokens)
  if (mode === 'login') return loginOf(loginWord(tokens) ?? 'login', wordsBehindMode(tokens), tokens)
  if (mode === 'secret') return secretOf(wordsBehindMode(tokens), tokens.rest)
  return mode === 'stdio' || mode === 'url' ? stdioOf(tokens) : httpOf(tokens)
}

function checkOf(tokens: Tokens): CheckCommand {
  const { values } = tokens
  return {
    kind: 'check',
    config: checkedFileOf(tokens) ?? values.get('config'),
    schema: asksFor(tokens, 'stdio') ? (values.get('schema') ?? 'default') : undefined,
    host: values.get('host'),
    allowUnauthenticated: values.has('allow-unauthenticated'),
    start: values.has('start'),
  }
}

function askCommandOf(tokens: Tokens): AskCommand | DoctorCommand {
  const { values } = tokens
  const [what, words] = [askOf(tokens) ?? 'tools', wordsBehindMode(tokens)]
  const asked = {
    config: values.get('config'),
    schema: values.get('schema') ?? 'default',
    json: values.has('json'),
  }
  if (what === 'doctor' || what === 'list')
    return { kind: 'doctor', name: words[0], isBrief: what === 'list', ...asked }
  return {
    kind: 'ask',
    what,
    words,
    profile: values.get('profile'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    ...asked,
  }
}

function statusOf(tokens: Tokens): StatusCommand {
  const { values } = tokens
  return {
    kind: 'status',
    url: wordsBehindMode(tokens)[0],
    headers: headersOf(tokens),
    config: values.get('config'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    json: values.has('json'),
  }
}

function editCommandOf(tokens: Tokens): EditCommand {
  const { values } = tokens
  const [name = ''] = wordsBehindMode(tokens)
  const what = editOf(tokens) ?? 'add'
  const entry = entryOf(tokens)
  const edit =
    what === 'add'
      ? ({ kind: what, name, entry, replaces: values.has('force') } as const)
      : { kind: what, name }
  return { kind: 'edit', edit, config: values.get('config'), schema: values.get('schema') ?? 'default' }
}

/** The server as the configuration file has it. */
function entryOf(tokens: Tokens): object {
  const [, url] = wordsBehindMode(tokens)
  const [command, ...args] = tokens.rest ?? []
  if (url !== undefined) {
    const headers = headersOf(tokens)
    return { url, ...(Object.keys(headers).length > 0 && { headers }) }
  }
  const env = Object.fromEntries(
    (tokens.lists.get('env') ?? []).map((each) => [
      each.slice(0, each.indexOf('=')),
      each.slice(each.indexOf('=') + 1),
    ]),
  )
  return { command, ...(args.length > 0 && { args }), ...(Object.keys(env).length > 0 && { env }) }
}

function stdioOf(tokens: Tokens): StdioCommand {
  const schema = tokens.values.get('schema') ?? 'default'
  const server = tokens.values.get('server')
  const profile = tokens.values.get('profile')
  return { kind: 'stdio', schema, server, profile, remote: remoteOf(tokens), ...serveOptionsOf(tokens) }
}

function httpOf(tokens: Tokens): HttpCommand {
  const { values } = tokens
  return {
    kind: 'http',
    isNamed: asksFor(tokens, 'http'),
    port: portOf(values.get('port') ?? ''),
    host: values.get('host'),
    allowUnauthenticated: values.has('allow-unauthenticated'),
    ...serveOptionsOf(tokens),
  }
}

function sandboxOf(tokens: Tokens): SandboxCommand {
  const { values } = tokens
  const config = checkedFileOf(tokens) ?? values.get('config')
  const serve = values.has('stdio') ? stdioOf(tokens) : httpOf(tokens)
  return {
    kind: 'sandbox',
    check: values.has('check'),
    serve: { ...serve, config },
    enablesCors: values.has('enable-cors'),
    runtime: runtimeOf(values.get('runtime')),
  }
}

function runtimeOf(text: string | undefined): SandboxRuntimeName | undefined {
  return runtimeNames.find((name) => name === text)
}

function serveOptionsOf({ values }: Tokens): Omit<ServeOptions, 'kind'> {
  return {
    config: values.get('config'),
    record: values.get('record'),
    force: values.has('force'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    logLevel: values.has('verbose') ? 'debug' : logLevelOf(values.get('log-level')),
    silent: values.has('silent'),
    keepsLists: !values.has('no-kept-lists') && !values.has('url'),
  }
}
