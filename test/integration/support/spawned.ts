// A program that speaks on its stdin and stdout, driven line by line.

import { strict as assert } from 'node:assert'
import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Scope } from '../../support/scope.js'
import { RawClient } from './client.js'
import { type ServerEntry, cli, root } from './programs.js'
import { HANG_MS, until } from './waiting.js'

export type { Scope } from '../../support/scope.js'

export interface SpawnOptions {
  readonly env?: Readonly<Record<string, string | undefined>>
  readonly cwd?: string
  /** The user of the program; only root may give another one. */
  readonly identity?: { readonly uid: number; readonly gid: number }
  /** Whether it has a channel for messages beside its streams. */
  readonly hasChannel?: boolean
}

function hasStreams(child: ChildProcess): child is ChildProcessWithoutNullStreams {
  return child.stdin !== null && child.stdout !== null && child.stderr !== null
}

/** A running program and the client that speaks to it. */
export class Spawned {
  readonly client: RawClient
  readonly child: ChildProcessWithoutNullStreams
  readonly exited: Promise<number | string>
  /** The last part of the program's stderr. */
  stderr = ''
  #rest: Buffer[] = []
  #leftover = ''

  constructor(command: string, args: readonly string[], options: SpawnOptions = {}) {
    const { env = process.env, cwd = root, identity, hasChannel = false } = options
    const stdio = ['pipe', 'pipe', 'pipe', ...(hasChannel ? (['ipc'] as const) : [])] as const
    const child = spawn(command, [...args], { cwd, env, stdio: [...stdio], ...identity })
    assert(hasStreams(child))
    this.child = child
    this.client = new RawClient((line) => this.child.stdin.write(`${line}\n`))
    this.child.stdin.on('error', () => undefined)
    this.child.stdout.on('data', (chunk: Buffer) => this.#push(chunk))
    this.child.stderr.on('data', (chunk: Buffer) => {
      this.stderr = (this.stderr + chunk.toString()).slice(-100_000)
    })
    this.exited = new Promise((resolve) => {
      this.child.on('close', (code, signal) => {
        this.#leftover = Buffer.concat(this.#rest).toString()
        this.client.gone(`exit ${code ?? signal}: ${this.stderr.slice(-2000)}`)
        resolve(code ?? signal ?? 'unknown')
      })
    })
  }

  write(bytes: string | Uint8Array): void {
    this.child.stdin.write(bytes)
  }

  end(): void {
    this.child.stdin.end()
  }

  /** Ends stdin and gives the exit code; every line that came must have been a frame. */
  async finish(): Promise<number | string> {
    this.end()
    const code = await this.exited
    this.assertValid()
    return code
  }

  assertValid(): void {
    this.client.assertValid()
    assert.equal(this.#leftover, '', 'stdout ends at the end of a line')
  }

  kill(): void {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL')
  }

  #push(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      this.client.take(Buffer.concat([...this.#rest, chunk.subarray(from, end)]).toString())
      this.#rest = []
      from = end + 1
    }
    if (from < chunk.length) this.#rest.push(chunk.subarray(from))
  }
}

/** A folder that is gone after the test. */
export function scratch(scope: Scope): string {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-it-'))
  // A server that is ending may write one file more meanwhile.
  scope.after(() => rm(folder, { recursive: true, force: true, maxRetries: 10 }))
  return folder
}

export type Servers = Readonly<Record<string, ServerEntry>>

/** A configuration file with these servers. */
export function configFile(scope: Scope, servers: Servers, more: ServerEntry = {}): string {
  const path = join(scratch(scope), 'config.json')
  writeFileSync(path, JSON.stringify({ ...more, mcpServers: servers }))
  return path
}

export interface ProxyOptions extends SpawnOptions {
  readonly args?: readonly string[]
  /** Beside `mcpServers` in the configuration. */
  readonly more?: ServerEntry
}

/** `mcps-proxy --stdio` with these servers; killed after the test if it should still be there. */
export function spawnProxy(scope: Scope, servers: Servers, options: ProxyOptions = {}): Spawned {
  const config = configFile(scope, servers, options.more)
  const args = [cli, '--stdio', '--config', config, ...(options.args ?? [])]
  return spawnProgram(scope, process.execPath, args, options)
}

export function spawnProgram(
  scope: Scope,
  command: string,
  args: readonly string[],
  options?: SpawnOptions,
): Spawned {
  const spawned = new Spawned(command, args, options)
  scope.after(async () => {
    spawned.end()
    const killer = setTimeout(() => spawned.kill(), HANG_MS)
    await spawned.exited
    clearTimeout(killer)
    spawned.assertValid()
  })
  return spawned
}

/** The command that serves HTTP, with its port, once it does; it is killed after the test. */
export async function spawnGateway(
  scope: Scope,
  args: readonly string[],
  options?: SpawnOptions,
): Promise<{ readonly proxy: Spawned; readonly port: number }> {
  const proxy = new Spawned(process.execPath, [cli, ...args], options)
  scope.after(() => proxy.kill())
  const served = /http:\/\/[^\s/]+:(\d+)\/api\/status/
  await until(() => served.test(proxy.stderr))
  return { proxy, port: Number(served.exec(proxy.stderr)?.[1]) }
}

/** The exit code of a run of the command, and its output. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs the command to its end. */
export function ran(args: readonly string[], env: NodeJS.ProcessEnv, input = ''): Ran {
  const options = { env, input, encoding: 'utf8' } as const
  const { status, stdout, stderr } = spawnSync(process.execPath, [cli, ...args], options)
  return { code: status, out: stdout, err: stderr }
}

/** The address of the page of a proxy with `--ui`, once it is served; `home` is that of the proxy. */
export async function inspectorOf(proxy: Spawned, home: string = homedir()): Promise<string> {
  await until(() => proxy.stderr.includes('inspector: '))
  return readFileSync(join(home, '.mcps-proxy/ui', String(proxy.child.pid)), 'utf8')
}
