// The command line that a transcript is replayed against: the given command, the transcript's own, or this
// program.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import type { SpawnSpec } from '../runtime/runtime.js'
import { escapeText, inShell } from '../text/escape.js'
import type { Carrier, Header, Transcript } from './transcript.js'

/** How this program is started again. */
export interface OwnProgram {
  readonly self: readonly string[]
  readonly cwd: string
}

/** The choices of the command line, and the program itself. */
interface LaunchOptions extends OwnProgram {
  /** If it is empty, the transcript names the command. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
}

export interface Launch {
  readonly spec: SpawnSpec
  /** The address of a server over HTTP. */
  readonly url: URL | undefined
}

/** A replay does not read cached lists of an earlier run, and does not take the port of metrics from a running proxy. */
const ofReplays = ['--no-kept-lists', '--no-metrics']

type Expand = (text: string) => string

/** Makes command lines, and owns the folder of the configurations that they name. */
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

  /**
   * The launch of a server on stdin and stdout, or on a port that is free now.
   *
   * `servicePort` is the port of the service that was started for the transcript.
   */
  async server(
    { header, file }: Pick<Transcript, 'header' | 'file'>,
    carrier: Carrier,
    servicePort: string | undefined,
  ): Promise<Launch> {
    const { command, self } = this.#options
    const port = carrier === 'http' ? await freePort() : undefined
    const expand = expander(file, { port, servicePort })
    const { args, path } = argumentsFor(carrier, header.args)
    const url =
      port === undefined ? undefined : new URL(expand(header.url ?? `http://127.0.0.1:$port${path}`))
    const env = Array.from(header.env, ([name, value]): [string, string] => [name, expand(value)])
    const given = command.length > 0 ? command : header.command
    if (given !== undefined) return { spec: this.#spec(given.map(expand), env), url }
    const own = [...self, ...args.map(expand), ...ofReplays.filter((each) => !args.includes(each))]
    const config = header.config === undefined ? [] : ['--config', this.#configFile(header.config, expand)]
    return { spec: this.#spec([...own, ...config], env), url }
  }

  /** The launch of the service that a transcript needs, on a port that is free now. */
  async service({ file }: Transcript, command: readonly string[]): Promise<Launch> {
    const servicePort = await freePort()
    const spec = this.#spec(command.map(expander(file, { servicePort })))
    return { spec, url: new URL(`http://127.0.0.1:${servicePort}/`) }
  }

  /** Removes the configurations. */
  close(): void {
    process.off('exit', this.#remove)
    this.#remove()
    this.#folder = undefined
  }

  #spec([command = '', ...args]: readonly string[], more: Iterable<[string, string]> = []): SpawnSpec {
    const { env, cwd } = this.#options
    const own = Object.entries(env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
    return { command, args, env: Object.fromEntries([...own, ...more]), cwd }
  }

  /** The configuration may hold secrets, so a signal that ends the replay must not leave it behind. */
  #configFile(config: string, expand: Expand): string {
    if (this.#folder === undefined) {
      this.#folder = mkdtempSync(join(tmpdir(), 'mcps-replay-'))
      process.once('exit', this.#remove)
    }
    const value: unknown = JSON.parse(config, (_key, each: unknown) =>
      typeof each === 'string' ? expand(each) : each,
    )
    const path = join(this.#folder, `config-${(this.#files += 1)}.json`)
    writeFileSync(path, JSON.stringify(value), { mode: 0o600 })
    return path
  }
}

/** `$node`, `$here` (the transcript's folder), `$dist` (the compiled program's) and ports, so that a fixture runs anywhere. */
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

// The arguments of a recording name its file, its page and its port. A replay records nothing, shows no page, and
// listens on a port that is free.

const recordingOptions = /^--(?:record|ui)(?:=|$)/
const listenerOptions = /^(?:--(?:port|host|schema|allow-unauthenticated|stdio)|-p)(?:=|$)/

/** A value follows each of these options. */
const optionsWithValue = /^(?:--(?:record|port|host|schema)|-p)$/

/** `path` is the path of the schema; `$port` stands for the port. */
function argumentsFor(
  carrier: Carrier,
  args: readonly string[] = carrier === 'http' ? [] : ['--stdio'],
): { readonly args: readonly string[]; readonly path: string } {
  const isHttp = carrier === 'http'
  const isDropped = (arg = ''): boolean => recordingOptions.test(arg) || (isHttp && listenerOptions.test(arg))
  const kept = args.filter((arg, at) => {
    const before = args[at - 1] ?? ''
    const isValue =
      isDropped(before) && (optionsWithValue.test(before) || (before === '--ui' && /^\d+$/.test(arg)))
    return !isDropped(arg) && !isValue && !(isHttp && at === 0 && arg === 'stdio')
  })
  if (!isHttp) return { args: kept, path: '' }
  const [, schema] = /(?:^|\n)--schema[=\n]([^\n]*)/.exec(args.join('\n')) ?? []
  const path = schema === undefined ? '/mcp' : `/api/${encodeURIComponent(schema)}/mcp`
  return { args: [...kept, '--port', '$port'], path }
}

/** A port that is free now. */
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
 * The command lines that a replay takes from transcripts, each in full, for a question: a transcript may come from a
 * stranger. The list is empty when the command line of the replay names the server, and the transcript adds no variable.
 */
export function startsOf(
  transcripts: readonly Transcript[],
  { command, url }: { readonly command: readonly string[]; readonly url: string | undefined },
): string[] {
  if (url !== undefined) return []
  const headers = new Map(transcripts.map(({ header, file }) => [header, file]))
  return [...headers].flatMap(([header, file]) => {
    const lines = command.length > 0 ? givenLines(header, command) : ownLines(header)
    return lines.map((line) => escapeText(`${file}: ${line}`))
  })
}

/** A variable such as NODE_OPTIONS makes another program of the command that the user gave. */
function givenLines({ env }: Header, command: readonly string[]): string[] {
  return env.size === 0 ? [] : [shellLine(env, command)]
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
