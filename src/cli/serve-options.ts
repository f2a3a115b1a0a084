// The words and options of the modes that serve, and of `check`.

import type { RemoteServer } from '../proxy/remote.js'
import type { LogLevel } from '../runtime/runtime.js'
import { nearest } from '../text/nearest.js'
import type { SandboxRuntimeName } from '../upstream/contracts/sandbox-config.js'
import { millisecondsOf } from './milliseconds.js'
import { commandNames } from './options.js'
import { remoteOf } from './remote-options.js'
import type { ServeOptions } from './run.js'
import { usage } from './tokens.js'
import type { CommandLine, UsageMistake } from './tokens.js'

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

/** Serve a sandbox on HTTP, or on stdin and stdout. */
export interface SandboxCommand {
  readonly kind: 'sandbox'
  /** Whether it only says which runtimes can be used. */
  readonly check: boolean
  readonly serve: StdioCommand | HttpCommand
  readonly enablesCors: boolean
  readonly runtime: SandboxRuntimeName | undefined
}

export const PORT_MAX = 65_535
export const runtimeNames = ['auto', 'bubblewrap', 'container', 'microsandbox-server'] as const

/** Whether the mode is named, as a command or as an option. */
export function asksFor({ command, values }: CommandLine, mode: 'stdio' | 'http'): boolean {
  return command === mode || values.has(mode)
}

export function mistakeInServing(line: CommandLine): UsageMistake | undefined {
  const [stray] = line.words.slice(isFileOfCheck(line) ? 1 : 0)
  if (stray !== undefined) return unexpected(stray)
  if (line.rest !== undefined)
    return usage(
      'only replay takes a command after --',
      'for example: mcps-proxy replay FILE.jsonl -- COMMAND',
    )
  if (checkedFileOf(line) !== undefined && line.values.has('config'))
    return usage('--check FILE and --config cannot be used together', 'name the file once')
  return undefined
}

function unexpected(word: string): UsageMistake {
  // It may hold a password or a key.
  if (word.includes('://'))
    return usage('unexpected argument that is an address', '--url URL serves a remote server')
  if (/\.jsonc?$/.test(word))
    return usage(`unexpected argument "${word}"`, `a configuration file is named by --config ${word}`)
  const [near] = word === 'resources' ? (['read'] as const) : nearest(word, commandNames)
  return usage(
    `unexpected argument "${word}"`,
    near === undefined ? 'mcps-proxy --help shows how to start it' : `did you mean ${near}?`,
  )
}

/** Whether the first word is the file of `--check`, as in `--check --start FILE`. */
function isFileOfCheck({ values }: CommandLine): boolean {
  return values.get('check') === ''
}

function checkedFileOf(line: CommandLine): string | undefined {
  return isFileOfCheck(line) ? line.words[0] : line.values.get('check')
}

export function stdioOf(line: CommandLine): StdioCommand {
  const schema = line.values.get('schema') ?? 'default'
  const server = line.values.get('server')
  const profile = line.values.get('profile')
  return { kind: 'stdio', schema, server, profile, remote: remoteOf(line), ...serveOptionsOf(line) }
}

export function httpOf(line: CommandLine): HttpCommand {
  const { values } = line
  return {
    kind: 'http',
    isNamed: asksFor(line, 'http'),
    port: portOf(values.get('port') ?? ''),
    host: values.get('host'),
    allowUnauthenticated: values.has('allow-unauthenticated'),
    ...serveOptionsOf(line),
  }
}

export function sandboxOf(line: CommandLine): SandboxCommand {
  const { values } = line
  const config = checkedFileOf(line) ?? values.get('config')
  const serve = values.has('stdio') ? stdioOf(line) : httpOf(line)
  return {
    kind: 'sandbox',
    check: values.has('check'),
    serve: { ...serve, config },
    enablesCors: values.has('enable-cors'),
    runtime: runtimeOf(values.get('runtime')),
  }
}

export function runtimeOf(text: string | undefined): SandboxRuntimeName | undefined {
  return runtimeNames.find((name) => name === text)
}

function serveOptionsOf({ values }: CommandLine): Omit<ServeOptions, 'kind'> {
  return {
    config: values.get('config'),
    record: values.get('record'),
    uiPort: values.has('ui') ? uiPortOf(values.get('ui') ?? '') : undefined,
    force: values.has('force'),
    timeoutMs: millisecondsOf(values.get('timeout') ?? ''),
    logLevel: values.has('verbose') ? 'debug' : logLevelOf(values.get('log-level')),
    silent: values.has('silent'),
    keepsLists: !values.has('no-kept-lists') && !values.has('url'),
    measures: !values.has('no-metrics'),
  }
}

export function checkOf(line: CommandLine): CheckCommand {
  const { values } = line
  return {
    kind: 'check',
    config: checkedFileOf(line) ?? values.get('config'),
    schema: asksFor(line, 'stdio') ? (values.get('schema') ?? 'default') : undefined,
    host: values.get('host'),
    allowUnauthenticated: values.has('allow-unauthenticated'),
    start: values.has('start'),
  }
}

export function portOf(text: string): number | undefined {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : PORT_MAX + 1
  return port <= PORT_MAX ? port : undefined
}

/** 0 takes a free one. */
export function uiPortOf(text: string): number | undefined {
  return portOf(text === '' ? '0' : text)
}

export function logLevelOf(text: string | undefined): LogLevel | undefined {
  return (['error', 'warn', 'info', 'debug'] as const).find((level) => level === text)
}
