// The warm-up: the lists of servers are learned although the client has left before the servers were ready.
//
// A client that lists once and leaves, or that times out, ends the proxy while `npx` is still installing servers. Without
// their lists the next start would wait as long. So the proxy leaves a detached process behind (`run-warm-up.ts`), which
// starts the servers of which nothing is kept, keeps their lists, and ends.
//
// An install that is under way is not killed, because npm would later take the finished part for the whole package.
// The detached process gets the streams of the install, and waits until it ends by itself at the end of its stdin.

import { isAbsolute } from 'node:path'
import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import type { McpProxy, ServerEvent } from '../index.js'
import { unlistedServers } from '../proxy/kept-report.js'
import { spawnDetached } from '../upstream/process/detached.js'
import { isInstaller } from '../upstream/process/installers.js'
import type { Children } from './children.js'

/** The first word of the command line of the detached process. */
const WARM_UP = 'warm-up'

/** Starts a warm-up where one proxy leaves servers behind that are not ready. */
export class WarmUp {
  readonly #config: Configuration
  readonly #schema: SchemaConfig
  readonly #children: Children
  /** Servers that are starting, by name, with their process where there is one. */
  readonly #starting = new Map<string, number | undefined>()

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
  }

  /** The client has left: the process is spawned before anything of the proxy is closed. */
  begin(proxy: Pick<McpProxy, 'status'>): void {
    const waiting = proxy.status().flatMap(({ name, state }) => (state === 'starting' ? [name] : []))
    if (waiting.length === 0) return
    const unlisted = unlistedServers(this.#config, this.#schema, process.env)
    const left = unlisted.filter(({ name }) => waiting.includes(name))
    if (left.length === 0) return
    const installs = left.flatMap((server) => {
      const pid = this.#starting.get(server.name)
      const isInstall = server.kind === 'stdio' && isInstaller(server.command, server.args)
      const streams = isInstall && pid !== undefined ? this.#children.release(pid) : undefined
      return streams === undefined ? [] : [{ pid, streams }]
    })
    const pids = installs.map(({ pid }) => String(pid))
    const { source } = this.#config
    spawnDetached(
      [WARM_UP, isAbsolute(source) ? source : '', this.#schema.name, ...pids],
      installs.flatMap(({ streams }) => streams),
    )
  }
}
