// Chooses the command line of the server: the command of the user, of the transcript, or of this program.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import type { SpawnSpec } from '../runtime/runtime.js'
import { escapeText, inShell } from '../text/escape.js'
import { definedIn } from '../text/json-object.js'
import type { ReplayRequest } from './command.js'
import type { Carrier, Header, Transcript } from './transcript.js'

/** The command line that starts this program again. */
export interface OwnProgram {
  readonly self: readonly string[]
  readonly cwd: string
}

interface LaunchOptions extends OwnProgram {
  /** The command of the user. If it is empty, the transcript names the command. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Launch {
  readonly spec: SpawnSpec
  /** The address over HTTP. */
  readonly url: URL
}

/** A replay does not read cached lists of an earlier run, and does not take the port of metrics from a running proxy. */
const ofReplays = ['--no-kept-lists', '--no-metrics']

/** The default for `startupGraceMs`, so that the first answers do not depend on the speed of servers. */
const STARTUP_GRACE_MS = 60_000

type Expand = (text: string) => string

export class Launcher {
  readonly #options: LaunchOptions
  #folder: string | undefined
  #files = 0
  readonly #remove = (): void => {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true })
  }

  constructor(options: LaunchOptions) {
    this.#options = options
  }

  /** `servicePort` is the port of the service that the replay has started for the transcript. */
  async server(
    { header, file }: Pick<Transcript, 'header' | 'file'>,
    carrier: Carrier,
    servicePort: string | undefined,
  ): Promise<Launch> {
    const port = await freePort()
    const expand = expander(file, { port, servicePort })
    const args = argumentsFor(carrier, header.args)
    const url = new URL(pathOf(header.args ?? []), `http://127.0.0.1:${port}`)
    const given = this.#options.command.length > 0 ? this.#options.command : header.command
    const command = given?.map(expand) ?? [
      ...this.#options.self,
      ...args.map(expand),
      ...ofReplays.filter((each) => !args.includes(each)),
      ...(header.config === undefined ? [] : ['--config', this.#configFile(header.config, expand)]),
    ]
    const env = Array.from(header.env, ([name, value]) => [name, expand(value)] as const)
    return { spec: this.#spec(command, env), url }
  }

  async service({ file }: Transcript, command: readonly string[]): Promise<Launch> {
    const servicePort = await freePort()
    const spec = this.#spec(command.map(expander(file, { servicePort })))
    return { spec, url: new URL(`http://127.0.0.1:${servicePort}/`) }
  }

  close(): void {
    process.off('exit', this.#remove)
    this.#remove()
    this.#folder = undefined
  }

  #spec(
    [command = '', ...args]: readonly string[],
    more: readonly (readonly [string, string])[] = [],
  ): SpawnSpec {
    const { env, cwd } = this.#options
    return { command, args, env: { ...definedIn(env), ...Object.fromEntries(more) }, cwd }
  }

  /** The configuration may contain secrets, so an `exit` handler removes the file also after a signal. */
  #configFile(config: string, expand: Expand): string {
    if (this.#folder === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'mcps-replay-'))
      process.once('exit', this.#remove)
    }
    const value: unknown = JSON.parse(config, (_key, each: unknown) =>
      typeof each === 'string' ? expand(each) : each,
    )
    const path = join(this.#folder, `config-${(this.#files += 1)}.json`)
    writeFileSync(path, JSON.stringify(Object.assign({ startupGraceMs: STARTUP_GRACE_MS }, value)), {
      mode: 0o600,
    })
    return path
  }
}

/** Replaces `$node`, `$here` (the transcript's folder), `$dist` (the program's folder) and the names of ports. */
function expander(file: string, ports: Readonly<Record<string, string | undefined>>): Expand {
  const values: Readonly<Record<string, string | undefined>> = {
    node: process.execPath,
    here: dirname(resolve(file)),
    dist: programFolder,
    ...ports,
  }
  return (text) =>
    text.replace(/\$(node|here|dist|port|servicePort)\b/g, (whole, name: string) => values[name] ?? whole)
}

// A replay records nothing, shows no page, and listens on a free port, so `argumentsFor` removes such options from
// the recorded arguments, with their values. The value of `--ui` is optional.

const ofRecordings = /^--(?:record|ui)$/
const ofListeners = /^(?:--(?:port|host|schema)|-p)$/
const switchesOfListeners = /^--(?:allow-unauthenticated|stdio)$/

function argumentsFor(carrier: Carrier, recorded: readonly string[] | undefined): readonly string[] {
  const isHttp = carrier === 'http'
  const args = recorded ?? (isHttp ? [] : ['--stdio'])
  const hasValue = (arg: string): boolean => ofRecordings.test(arg) || (isHttp && ofListeners.test(arg))
  const kept = args.filter((arg, at) => {
    const [name = ''] = arg.split('=')
    const before = args[at - 1] ?? ''
    const isValue = hasValue(before) && (before !== '--ui' || /^\d+$/.test(arg))
    const isOfListener = isHttp && (switchesOfListeners.test(name) || (at === 0 && arg === 'stdio'))
    return !isValue && !hasValue(name) && !isOfListener
  })
  return isHttp ? [...kept, '--port', '$port'] : kept
}

/** Returns the HTTP path of the schema in the recorded arguments. */
function pathOf(args: readonly string[]): string {
  const [, schema] = /(?:^|\n)--schema[=\n]([^\n]*)/.exec(args.join('\n')) ?? []
  return schema === undefined ? '/mcp' : `/api/${encodeURIComponent(schema)}/mcp`
}

function freePort(): Promise<string> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(String(port)))
    })
  })
}

/**
 * Returns the command lines that transcripts name, in full: the user must allow them, because a stranger may have
 * written a transcript. Empty if the user names the server and no transcript sets a variable.
 */
export function startsOf(
  transcripts: readonly Transcript[],
  { rest: command = [], url }: Pick<ReplayRequest, 'rest' | 'url'>,
): string[] {
  if (url !== undefined) return []
  const headers = new Map(transcripts.map(({ header, file }) => [header, file]))
  return [...headers].flatMap(([header, file]) => {
    // A variable such as NODE_OPTIONS can make the command of the user run other code.
    const given = header.env.size === 0 ? [] : [shellLine(header.env, command)]
    const lines = command.length > 0 ? given : ownLines(header)
    return lines.map((line) => escapeText(`${file}: ${line}`))
  })
}

function ownLines({ command, args = [], config, service, env }: Header): string[] {
  const started = shellLine(env, command ?? ['mcps-proxy', ...args])
  return [
    ...(service === undefined ? [] : [shellLine(new Map(), service)]),
    config === undefined || command !== undefined ? started : `${started}, with the configuration ${config}`,
  ]
}

function shellLine(env: Header['env'], command: readonly string[]): string {
  const variables = Array.from(env, ([name, value]) => `${name}=${inShell(value)}`)
  return [...variables, ...command.map(inShell)].join(' ')
}
