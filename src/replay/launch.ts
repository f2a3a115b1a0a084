// The command line that a transcript is replayed against: the given command, the transcript's own, or this
// program.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import process from 'node:process'
import { programFolder } from '../folder.js'
import { createServer } from 'node:net'
import type { SpawnSpec } from '../runtime/runtime.js'
import type { Carrier, Transcript } from './transcript.js'

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
  /** Of a server that listens. */
  readonly url: URL | undefined
  /** Removes what was written for it. */
  dispose(): Promise<void>
}

/** A replay does not read the lists that an earlier run has kept, and leaves the port of metrics to the proxy that runs. */
const ofReplays = ['--no-kept-lists', '--no-metrics']

type Expand = (text: string) => string

/** For a server on stdin and stdout, or on a port that is free now, which has a `url`. */
export async function prepareLaunch(
  { header, file }: Pick<Transcript, 'header' | 'file'>,
  carrier: Carrier,
  { command, self, cwd, beside, ...options }: LaunchOptions,
): Promise<PreparedLaunch> {
  const port = carrier === 'http' ? await freePort() : undefined
  const expand = expander(file, { port, beside })
  const { args, path } = argumentsFor(carrier, header.args)
  const url = port === undefined ? undefined : new URL(expand(header.url ?? `http://127.0.0.1:$port${path}`))
  const more = Array.from(header.env, ([name, value]): [string, string] => [name, expand(value)])
  const env = environment(options.env, more)
  const given = command.length > 0 ? command : header.command
  if (given !== undefined) return { spec: specOf(given.map(expand), env, cwd), url, dispose: nothing }
  const own = [...self, ...args.map(expand), ...ofReplays.filter((each) => !args.includes(each))]
  if (header.config === undefined) return { spec: specOf(own, env, cwd), url, dispose: nothing }
  const { path: config, dispose } = writtenConfig(expandedConfig(header.config, expand))
  return { spec: specOf([...own, '--config', config], env, cwd), url, dispose }
}

/** For the service that a transcript needs beside the server; on a port that is free now. */
export async function prepareBeside(
  { file }: Transcript,
  command: readonly string[],
  { env, cwd }: LaunchOptions,
): Promise<PreparedLaunch> {
  const beside = await freePort()
  const spec = specOf(command.map(expander(file, { beside })), environment(env), cwd)
  return { spec, url: new URL(`http://127.0.0.1:${beside}/`), dispose: nothing }
}

/** The configuration may hold secrets, so a signal that ends the replay must not leave it behind. */
function writtenConfig(text: string): { readonly path: string; readonly dispose: () => Promise<void> } {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-replay-'))
  const remove = (): void => rmSync(folder, { recursive: true, force: true })
  process.once('exit', remove)
  const path = join(folder, 'config.json')
  writeFileSync(path, text, { mode: 0o600 })
  const dispose = async (): Promise<void> => {
    process.off('exit', remove)
    remove()
  }
  return { path, dispose }
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
  ports: { readonly port?: number | undefined; readonly beside?: number | undefined },
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

/** A replay is not looked at; the port of the page may be left out. */
function withoutPage(args: readonly string[]): string[] {
  return args.filter(
    (arg, at) => !/^--ui(?:=|$)/.test(arg) && !(args[at - 1] === '--ui' && /^\d+$/.test(arg)),
  )
}

/** `path` is the path of the schema; `$port` stands for the port. */
function argumentsFor(
  carrier: Carrier,
  args: readonly string[] = carrier === 'http' ? [] : ['--stdio'],
): { readonly args: readonly string[]; readonly path: string } {
  if (carrier === 'stdio') return { args: without(withoutPage(args), records), path: '' }
  const schema = valueOf(args, '--schema')
  const rest = without(withoutPage(args), places).filter(
    (arg, at) => arg !== '--stdio' && !(at === 0 && arg === 'stdio'),
  )
  const path = schema === undefined ? '/mcp' : `/api/${encodeURIComponent(schema)}/mcp`
  return { args: [...rest, '--port', '$port'], path }
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
