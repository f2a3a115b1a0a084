// The warm-up learns the lists of servers, although the client has left before the servers were ready.
//
// A client that lists once and leaves ends the proxy while `npx` still installs servers, and the next start
// would wait as long. So while servers are starting of which nothing is kept, a detached process
// (`run-warm-up.ts`) waits for the end of the proxy, even a killed one. Then it starts these servers, keeps
// their lists, and ends.

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
import { spawnSuccessor, type Successor } from '../upstream/process/detached.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

/** The first word of the command line of the detached process. */
const WARM_UP = 'warm-up'

/** Most servers are ready within this time, and need no warm-up. */
const SUCCESSOR_DELAY_MS = 1000

/** The lists of ready servers are written within this time, unless the proxy is killed. */
const WRITTEN_MS = 15_000

/** Starts a warm-up if one proxy leaves servers that are not ready. */
export class WarmUp {
  readonly #config: Configuration
  readonly #schema: SchemaConfig
  readonly #starting = new Set<string>()
  #successor: Successor | undefined
  /** Starts or dismisses the successor. */
  #timer: NodeJS.Timeout | undefined

  constructor(config: Configuration, schema: SchemaConfig) {
    this.#config = config
    this.#schema = schema
  }

  watch(proxy: Pick<McpProxy, 'on'>): void {
    proxy.on('server', (event) => this.#server(event))
  }

  #server({ server, state }: ServerEvent): void {
    if (state === 'starting') this.#starting.add(server)
    else if (state !== 'late') this.#starting.delete(server)
    clearTimeout(this.#timer)
    const isDone = this.#starting.size === 0
    const change = isDone ? () => this.#dismiss() : () => this.#prepare()
    this.#timer = setTimeout(change, isDone ? WRITTEN_MS : SUCCESSOR_DELAY_MS).unref()
  }

  #prepare(): void {
    const { source } = this.#config
    if (this.#successor === undefined && this.#hasUnlisted())
      this.#successor = spawnSuccessor([WARM_UP, isAbsolute(source) ? source : '', this.#schema.name])
  }

  #hasUnlisted(): boolean {
    const names = this.#starting
    if (names.size === 0) return false
    return unlistedServers(this.#config, this.#schema, process.env).some(({ name }) => names.has(name))
  }

  #dismiss(): void {
    this.#successor?.dismiss()
    this.#successor = undefined
  }

  /** The client has left: the detached process begins before the proxy closes anything. */
  begin(proxy: Pick<McpProxy, 'status'>): void {
    clearTimeout(this.#timer)
    for (const { name, state } of proxy.status()) if (state === 'starting') this.#starting.add(name)
    if (!this.#hasUnlisted()) return this.#dismiss()
    this.#prepare()
    this.#successor?.begin()
  }
}

/** The path of the lock that a process holds while it learns the lists of this schema. */
export function keptLock({ source }: Configuration, schema: SchemaConfig, env: Environment): string {
  const name = keptFileName(`${source}\0${schema.name}`).replace(/json$/, 'lock')
  return `${ownPath(homeOf(env), 'kept')}/${name}`
}

/** How long one look at the kept lists counts for all servers of a schema. */
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
      names = lock.isActive ? unlistedServers(config, schema, runtime.env).map(({ name }) => name) : []
    }
    return names.includes(server)
  }
}

/** A clock that stands still at 0: no entry is old then, so a look does not mark entries as used. */
const stillClock = { wallNow: () => 0, setTimer: () => ({ cancel: () => {} }) }

/** The servers of a schema that start without a request, and that have neither listed nor failed yet. */
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
