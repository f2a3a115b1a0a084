// What is started for a transcript: the named command, the transcript's own, or this very program.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { programFolder } from '../folder.js'
import type { SpawnSpec } from '../upstream/host.js'
import type { Header } from './header.js'
import type { Transcript } from './transcript.js'

/** What the person at the keyboard chose, and who we are. */
export interface LaunchOptions {
  /** Empty leaves the choice to the transcript. */
  readonly command: readonly string[]
  /** How this program is started again. */
  readonly self: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  readonly cwd: string
}

export interface Launch {
  readonly spec: SpawnSpec
  /** Removes what was written for it. */
  dispose(): Promise<void>
}

export async function prepareLaunch({ header, file }: Transcript, options: LaunchOptions): Promise<Launch> {
  const expand = expander(file)
  const env = environment(header, options.env, expand)
  const given = options.command.length > 0 ? options.command : header.command?.map(expand)
  if (given !== undefined) return { spec: specOf(given, env, options.cwd), dispose: () => Promise.resolve() }
  return proxyLaunch(header, env, options, expand)
}

async function proxyLaunch(
  { args = ['--stdio'], config }: Header,
  env: Readonly<Record<string, string>>,
  { self, cwd }: LaunchOptions,
  expand: (text: string) => string,
): Promise<Launch> {
  const command = [...self, ...withoutRecord(args.map(expand))]
  if (config === undefined) return { spec: specOf(command, env, cwd), dispose: () => Promise.resolve() }
  const folder = await mkdtemp(join(tmpdir(), 'mcps-replay-'))
  const path = join(folder, 'config.json')
  const value: unknown = JSON.parse(config, (_key, each: unknown) =>
    typeof each === 'string' ? expand(each) : each,
  )
  await writeFile(path, JSON.stringify(value), { mode: 0o600 })
  return {
    spec: specOf([...command, '--config', path], env, cwd),
    dispose: () => rm(folder, { recursive: true, force: true }),
  }
}

/** `$node`, `$here` (the transcript's folder) and `$dist` (the compiled program's), so that a fixture runs anywhere. */
function expander(file: string): (text: string) => string {
  const values = new Map([
    ['$node', process.execPath],
    ['$here', dirname(resolve(file))],
    ['$dist', programFolder],
  ])
  return (text) => text.replace(/\$(?:node|here|dist)\b/g, (name) => values.get(name) ?? name)
}

/** A replay of what was recorded does not record over it. */
function withoutRecord(args: readonly string[]): string[] {
  return args.filter(
    (arg, at) => arg !== '--record' && !arg.startsWith('--record=') && args[at - 1] !== '--record',
  )
}

function environment(
  header: Header,
  own: LaunchOptions['env'],
  expand: (text: string) => string,
): Readonly<Record<string, string>> {
  const env: Record<string, string> = {}
  for (const [name, value] of Object.entries(own)) if (value !== undefined) env[name] = value
  for (const [name, value] of header.env) env[name] = expand(value)
  return env
}

function specOf([command = '', ...args]: readonly string[], env: SpawnSpec['env'], cwd: string): SpawnSpec {
  return { command, args, env, cwd }
}
