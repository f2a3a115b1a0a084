// The command line that a transcript is replayed against: the given command, the transcript's own, or this
// program.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import { createServer } from 'node:net'
import type { SpawnSpec } from '../runtime/runtime.js'
import type { Transcript, Header } from './transcript.js'

/** How this program is started again. */
export interface OwnProgram {
  readonly self: readonly string[]
  readonly cwd: string
}

/** The choices of the command line, and the program itself. */
export interface LaunchOptions extends OwnProgram {
  /** Empty leaves the choice to the transcript. */
  readonly command: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** The port of what was started beside it, which `$beside` stands for. */
  readonly beside?: number | undefined
}

export interface PreparedLaunch {
  readonly spec: SpawnSpec
  /** Removes what was written for it. */
  dispose(): Promise<void>
}

/** Of a server that listens. */
export interface HttpLaunch extends PreparedLaunch {
  readonly url: URL
}

/** A replay does not read the lists that an earlier run has kept, and leaves the port of metrics to the proxy that runs. */
const ofReplays = ['--no-kept-lists', '--no-metrics']

type Expand = (text: string) => string

/** For a server on stdin and stdout. */
export function prepareLaunch({ header, file }: Transcript, options: LaunchOptions): Promise<PreparedLaunch> {
  return launchOf(header, stdioArguments(header.args), options, expander(file, { beside: options.beside }))
}

/** For the service that a transcript needs beside the server; on a port that is free now. */
export async function prepareBeside(
  { file }: Transcript,
  command: readonly string[],
  { env, cwd }: LaunchOptions,
): Promise<HttpLaunch> {
  const beside = await freePort()
  const spec = specOf(command.map(expander(file, { beside })), environment(env), cwd)
  return { spec, url: new URL(`http://127.0.0.1:${beside}/`), dispose: nothing }
}

/** For a server on a port that is free now. */
export async function prepareHttpLaunch(
  { header, file }: Pick<Transcript, 'header' | 'file'>,
  options: LaunchOptions,
): Promise<HttpLaunch> {
  const expand = expander(file, { port: await freePort(), beside: options.beside })
  const { args, path } = httpArguments(header.args)
  const url = new URL(expand(header.url ?? `http://127.0.0.1:$port${path}`))
  return { ...(await launchOf(header, args, options, expand)), url }
}

async function launchOf(
  header: Header,
  args: readonly string[],
  options: LaunchOptions,
  expand: Expand,
): Promise<PreparedLaunch> {
  const { command, self, cwd } = options
  const more = Array.from(header.env, ([name, value]): [string, string] => [name, expand(value)])
  const env = environment(options.env, more)
  const given = command.length > 0 ? command : header.command
  if (given !== undefined) return { spec: specOf(given.map(expand), env, cwd), dispose: nothing }
  const own = [...self, ...args.map(expand), ...ofReplays.filter((each) => !args.includes(each))]
  if (header.config === undefined) return { spec: specOf(own, env, cwd), dispose: nothing }
  const folder = mkdtempSync(join(tmpdir(), 'mcps-replay-'))
  // The configuration may hold secrets, so a signal that ends the replay must not leave it behind.
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const path = join(folder, 'config.json')
  writeFileSync(path, expandedConfig(header.config, expand), { mode: 0o600 })
  return {
    spec: specOf([...own, '--config', path], env, cwd),
    dispose: async () => {
      process.off('exit', remove)
      remove()
    },
  }
}

/** Removes nothing, because nothing was written. */
async function nothing(): Promise<void> {}

function expandedConfig(config: string, expand: Expand): string {
  const value: unknown = JSON.parse(config, (_key, each: unknown) =>
    typeof each === 'string' ? expand(each) : each,
  )
  return JSON.stringify(value)
}

/** `$node`, `$here` (the transcript's folder), `$dist` (the compiled program's) and ports, so that a fixture runs anywhere. */
function expander(
  file: string,
  ports: { readonly port?: number; readonly beside?: number | undefined },
): Expand {
  const values = new Map([
    ['$node', process.execPath],
    ['$here', dirname(resolve(file))],
    ['$dist', programFolder],
  ])
  for (const [name, port] of Object.entries(ports))
    if (port !== undefined) values.set(`$${name}`, String(port))
  return (text) => text.replace(/\$(?:node|here|dist|port|beside)\b/g, (name) => values.get(name) ?? name)
}

function environment(own: LaunchOptions['env'], more: Iterable<[string, string]> = []): SpawnSpec['env'] {
  const set = Object.entries(own).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  return Object.fromEntries([...set, ...more])
}

function specOf([command = '', ...args]: readonly string[], env: SpawnSpec['env'], cwd: string): SpawnSpec {
  return { command, args, env, cwd }
}

// The arguments of a recording say how it was made: to which file, and on which port. A
// replay must not write over the one, and another process may have the other.

/** A replay of what was recorded does not record over it. */
const records = ['--record']
const places = ['--record', '--port', '-p', '--host', '--schema', '--allow-unauthenticated']

const switches: readonly string[] = ['--allow-unauthenticated']

function stdioArguments(args: readonly string[] = ['--stdio']): string[] {
  return without(withoutPage(args), records)
}

/** A replay is not looked at; the port of the page may be left out. */
function withoutPage(args: readonly string[]): string[] {
  return args.filter(
    (arg, at) => !/^--ui(?:=|$)/.test(arg) && !(args[at - 1] === '--ui' && /^\d+$/.test(arg)),
  )
}

/** `path` is the path of the schema; `$port` stands for the port. */
function httpArguments(args: readonly string[] = []): {
  readonly args: string[]
  readonly path: string
} {
  const schema = valueOf(args, '--schema')
  const rest = without(withoutPage(args), places).filter(
    (arg, at) => arg !== '--stdio' && !(at === 0 && arg === 'stdio'),
  )
  return {
    args: [...rest, '--port', '$port'],
    path: schema === undefined ? '/mcp' : `/api/${encodeURIComponent(schema)}/mcp`,
  }
}

function without(args: readonly string[], names: readonly string[]): string[] {
  const takes = (arg: string | undefined): boolean =>
    arg !== undefined && names.includes(arg) && !switches.includes(arg)
  return args.filter((arg, at) => {
    const [name = ''] = arg.split('=', 1)
    return !names.includes(name) && !takes(args[at - 1])
  })
}

function valueOf(args: readonly string[], name: string): string | undefined {
  const joined = args.find((arg) => arg.startsWith(`${name}=`))
  if (joined !== undefined) return joined.slice(name.length + 1)
  const at = args.indexOf(name)
  return at < 0 ? undefined : args[at + 1]
}

/** A port that is free now. */
function freePort(): Promise<number> {
  const server = createServer()
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      const port = typeof address === 'object' && address !== null ? address.port : 0
      server.close(() => resolve(port))
    })
  })
}
