// The warm-up: the lists of servers are learned although the client has left before the servers were ready.
//
// A client that lists once and leaves ends the proxy while `npx` is still installing servers, and the next start would wait as long.
// So the proxy leaves a detached process behind (`run-warm-up.ts`), which starts the servers of which nothing is kept, keeps their
// lists, and ends. An install that is under way is not killed, because npm would later take the finished part for the whole
// package: the detached process gets its streams, and waits until it ends by itself at the end of its stdin, or until 45 s have passed.
//
// Some clients kill the proxy before it can do that. So while such servers are starting, a detached process (the successor) waits
// for the end of the proxy, and does the same without the installs, which are killed.

import { isAbsolute } from 'node:path'
import process from 'node:process'
import type { Configuration, Environment, SchemaConfig } from '../config/configuration.js'
import { homeOf, ownPath } from '../config/file.js'
import type { McpProxy, ServerEvent } from '../index.js'
import { FolderFiles } from '../kept/folder-files.js'
import { KeptStore, keptFileName } from '../kept/store.js'
import { limits } from '../limits.js'
import { FileLock } from '../runtime/file-lock.js'
import type { Runtime } from '../runtime/runtime.js'
import { spawnDetached, spawnSuccessor, SUCCESSOR, type Successor } from '../upstream/process/detached.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { isInstaller } from '../upstream/process/installers.js'
import type { Children } from './shutdown.js'

/** The first word of the command line of the detached process. */
const WARM_UP = 'warm-up'

/** Most servers are ready within this time, and need no successor. */
const SUCCESSOR_DELAY_MS = 1000

/** The lists of servers that are ready are written within this time. */
const WRITTEN_MS = 15_000

/** Starts a warm-up where one proxy leaves servers behind that are not ready. */
export class WarmUp {
  readonly #config: Configuration
  readonly #schema: SchemaConfig
  readonly #children: Children
  /** Servers that are starting, by name, with their process where there is one. */
  readonly #starting = new Map<string, number | undefined>()
  #successor: Successor | undefined
  /** Starts or dismisses the successor. */
  #timer: NodeJS.Timeout | undefined

  constructor(config: Configuration, schema: SchemaConfig, children: Children) {
    this.#config = config
    this.#schema = schema
    this.#children = children
  }

  /** Follows the starts of this proxy's servers. */
  watch(proxy: Pick<McpProxy, 'on'>): void {
    proxy.on('server', (event) => this.#server(event))
  }

  #server({ server, state, pid }: ServerEvent): void {
    if (state === 'starting') this.#starting.set(server, pid)
    else if (state !== 'late') this.#starting.delete(server)
    clearTimeout(this.#timer)
    const isDone = this.#starting.size === 0
    const change = isDone ? () => this.#dismiss() : () => this.#prepare()
    if (isDone === (this.#successor !== undefined))
      this.#timer = setTimeout(change, isDone ? WRITTEN_MS : SUCCESSOR_DELAY_MS).unref()
  }

  #prepare(): void {
    if (this.#unlisted([...this.#starting.keys()]).length > 0)
      this.#successor = spawnSuccessor([...this.#arguments, SUCCESSOR])
  }

  #dismiss(): void {
    clearTimeout(this.#timer)
    this.#successor?.dismiss()
    this.#successor = undefined
  }

  /** Those of these servers of which nothing is kept. */
  #unlisted(names: readonly string[]): ServerConfig[] {
    if (names.length === 0) return []
    const unlisted = unlistedServers(this.#config, this.#schema, process.env)
    return unlisted.filter(({ name }) => names.includes(name))
  }

  get #arguments(): string[] {
    const { source } = this.#config
    return [WARM_UP, isAbsolute(source) ? source : '', this.#schema.name]
  }

  /** The client has left: the process is spawned before anything of the proxy is closed. */
  begin(proxy: Pick<McpProxy, 'status'>): void {
    const waiting = proxy.status().flatMap(({ name, state }) => (state === 'starting' ? [name] : []))
    const left = this.#unlisted(waiting)
    if (left.length > 0) this.#leave(left)
    this.#dismiss()
  }

  #leave(left: readonly ServerConfig[]): void {
    const installs = left.flatMap((server) => {
      const pid = this.#starting.get(server.name)
      const isInstall = server.kind === 'stdio' && isInstaller(server.command, server.args)
      const streams = isInstall && pid !== undefined ? this.#children.release(pid) : undefined
      return streams === undefined ? [] : [{ pid, name: server.name, streams }]
    })
    spawnDetached(
      [...this.#arguments, ...installs.flatMap(({ pid, name }) => [String(pid), name])],
      installs.flatMap(({ streams }) => streams),
    )
  }
}

/** The path of the lock that a process holds while it learns what the servers of this schema list. */
export function keptLock({ source }: Configuration, schema: SchemaConfig, env: Environment): string {
  const name = keptFileName(`${source}\0${schema.name}`).replace(/json$/, 'lock')
  return `${ownPath(homeOf(env), 'kept')}/${name}`
}

/** One look at what is kept counts for all servers of a schema in this time. */
const LOOK_MS = 1000

/** Whether a warm-up of this schema installs one of its servers now. */
export function isWarmingUp(
  config: Configuration,
  schema: SchemaConfig,
  runtime: Runtime,
): (server: string) => boolean {
  const lock = new FileLock(keptLock(config, schema, runtime.env), runtime)
  let lookedAt = -Infinity
  let names: readonly string[] = []
  return (server) => {
    const now = runtime.now()
    if (now - lookedAt >= LOOK_MS) {
      lookedAt = now
      names = lock.isTaken ? unlistedServers(config, schema, runtime.env).map(({ name }) => name) : []
    }
    return names.includes(server)
  }
}

/** A clock that stands still at 0: no entry is old then, so a look does not mark entries as used. */
const stillClock = { wallNow: () => 0, setTimer: () => ({ cancel: () => {} }) }

/** The servers of a schema that are started without being asked for, and that have neither listed nor failed yet. */
export function unlistedServers(
  { source }: Configuration,
  schema: SchemaConfig,
  env: Environment,
): ServerConfig[] {
  const files = new FolderFiles(ownPath(homeOf(env), 'kept'))
  const store = new KeptStore(limits.kept, { files, runtime: stillClock, log: () => {}, source })
  return schema.servers.filter((server) => {
    const { disabled, lazy, keep, unavailable } = server
    if (disabled || lazy || !keep || unavailable !== undefined) return false
    const facts = store.of(server).facts
    return facts?.description === undefined && facts?.failure === undefined
  })
}
