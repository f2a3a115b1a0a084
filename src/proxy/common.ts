// The parts that all schemas of one gateway share: the runtime, the machine's limits, the taps, and kept facts.

import { secretsIn } from '../config/config.js'
import type { Configuration } from '../config/configuration.js'
import { homeOf, ownPath } from '../config/file.js'
import { Emitter } from '../events/emitter.js'
import { filesIn } from '../kept/folder-files.js'
import { KeptStore } from '../kept/store.js'
import type { LockStore } from '../lock/store.js'
import { type Limits, limits as defaultLimits } from '../limits.js'
import type { ProxyEvents } from '../events/proxy-events.js'
import type { ProxyOptions } from './proxy-options.js'
import type { Policy } from '../policy/policy.js'
import type { CallPolicy } from './routing/router.js'
import { Unread } from './clients/unread.js'
import { realRuntime } from '../real-runtime.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import type { Store } from '../store/store.js'
import type { KeptServers } from '../upstream/contracts/kept.js'
import type { ListGuard } from '../upstream/contracts/list-guard.js'
import type { ProxyContext } from '../upstream/server/context.js'
import { StartGate } from '../upstream/server/start-gate.js'
import type { PeerWatch } from '../jsonrpc/peer.js'
import { splice } from '../jsonrpc/splice.js'
import type { Hop, LiveTap, TapSwitch, WireTap } from '../jsonrpc/wire-tap.js'
import { errorText } from '../text/error-text.js'

export interface Common {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly limits: Limits
  readonly taps: Taps
  readonly gate: StartGate
  readonly unread: Unread
  readonly events: Emitter<ProxyEvents>
  readonly kept: KeptServers
  readonly loaded: LoadedParts
  /** Replaces the guard of the lock. */
  readonly guard?: ListGuard | undefined
  /** The name of this instance, if a gateway has several. */
  readonly instance?: string | undefined
  /** Present only for a gateway whose front authenticates users. */
  readonly loginPages?: ProxyContext['loginPages']
  /** The owner calls this when no server runs any more. Resolves when the kept facts of servers are on disk. */
  close(): Promise<void>
}

/** Opens the parts of one proxy or of a gateway. `close` also closes the runtime, unless the options contain one. */
export function openCommon(config: Configuration, options: ProxyOptions): Common {
  const { tap, tapSwitch, limits: defaults, log = () => {}, on = {} } = options
  const own = realRuntime(log)
  const runtime = options.runtime ?? own
  const kept = openKept(config, options, runtime)
  const loaded = new LoadedParts(runtime, log)
  const events = new Emitter<ProxyEvents>(log)
  for (const listeners of [on].flat()) events.add(listeners)
  const limits = configured(config, defaults)
  const taps = new Taps(tap, runtime, log)
  tapSwitch?.(taps)
  return {
    runtime,
    log,
    limits,
    taps,
    gate: new StartGate(limits.upstream.processesMax, runtime, options.isInstalledElsewhere),
    unread: new Unread(limits.session.unreadBytesMax),
    events,
    kept,
    loaded,
    close: async () => {
      kept.close()
      await loaded.close()
      await own.close()
    },
  }
}

function openKept(
  { source }: Configuration,
  { keep = false, limits = defaultLimits, log = () => {} }: ProxyOptions,
  runtime: Runtime,
): KeptStore {
  if (keep === false) return new KeptStore(limits.kept)
  const folder = keep === true ? ownPath(homeOf(runtime.env), 'kept') : keep.folder
  return new KeptStore(limits.kept, { files: filesIn(folder, runtime), runtime, log, source })
}

/** The parts that are loaded only if the configuration in force needs them: the policy and the lock. */
export class LoadedParts {
  readonly #runtime: Runtime
  readonly #log: LogSink
  /** The store in which several instances count their limits; set before the first `load`. */
  store: Pick<Store, 'take'> | undefined
  /** Stays when a reload removes the rules, because a later reload may add rules again. */
  #policy: Policy | undefined
  #lock: LockStore | undefined

  constructor(runtime: Runtime, log: LogSink) {
    this.#runtime = runtime
    this.#log = log
  }

  /**
   * Loads the parts that this configuration needs, and changes nothing until the returned function is called.
   * That function applies the limits and confirmations of the configuration, and reads the lock file.
   */
  async load(config: Configuration): Promise<() => void> {
    if (this.#policy === undefined && hasPolicy(config)) {
      const { Policy } = await import('../policy/policy.js')
      // Schemas that reload at the same time share one policy.
      this.#policy ??= new Policy(this.#runtime, this.store)
    }
    const { isOn, path } = config.lock
    const Store = isOn ? (await import('../lock/store.js')).LockStore : undefined
    return () => {
      this.#policy?.change(config.limits, secretsIn(config))
      if (Store !== undefined && this.#lock?.path === path) this.#lock.read()
      else this.#lock = Store && new Store(path, this.#runtime, this.#log)
    }
  }

  /** Undefined until a configuration has rules. A limit counts the calls of a principal through all schemas. */
  policy(schema: string): CallPolicy | undefined {
    return this.#policy?.of(schema)
  }

  guard(schema: string): ListGuard | undefined {
    return this.#lock?.guard(schema)
  }

  async close(): Promise<void> {
    await this.#lock?.close()
  }
}

function hasPolicy({ limits, schemas }: Configuration): boolean {
  if (limits.length > 0) return true
  return [...schemas.values()].some(({ servers }) => servers.some(({ confirm }) => confirm.length > 0))
}

/** The limits, with the values that the configuration sets at the start. Calls and processes are counted by them. */
function configured(config: Configuration, limits: Limits = defaultLimits): Limits {
  const { drainMs, upstream } = limits
  return {
    ...limits,
    drainMs: config.server.drainTimeoutMs ?? drainMs,
    upstream: { ...upstream, processesMax: config.processesMax ?? upstream.processesMax },
  }
}

/** Numbers the connections of all schemas, shows their traffic to the taps, and logs faults of their owners. */
export class Taps implements TapSwitch {
  readonly #tap: WireTap
  readonly #runtime: Pick<Runtime, 'now'>
  readonly #startedAt: number
  readonly #log: LogSink
  #live: LiveTap | undefined
  #connections = 0

  constructor(tap: WireTap | undefined, runtime: Pick<Runtime, 'now'>, log: LogSink) {
    this.#tap = tap ?? {}
    this.#log = log
    this.#runtime = runtime
    this.#startedAt = runtime.now()
  }

  watch(hop: Omit<Hop, 'connection'>): PeerWatch {
    const to: Hop = { ...hop, connection: ++this.#connections }
    const { wire, forward } = this.#tap
    const onWire: PeerWatch['wire'] = (direction, bytes, whole) => {
      const at = this.#runtime.now() - this.#startedAt
      wire?.({ ...to, direction, at, bytes, whole })
      this.#show((tap) => tap.wire(to, direction, bytes, whole, at))
    }
    const onForwarded: PeerWatch['forwarded'] = (input, edits) => {
      forward?.({ to, input, edits, output: splice(input, edits).joined })
      this.#show((tap) => tap.forward(to, input, edits))
    }
    const isOn = (fixed: unknown): boolean => fixed !== undefined || this.#live !== undefined
    return {
      get wire() {
        return isOn(wire) ? onWire : undefined
      },
      get forwarded() {
        return isOn(forward) ? onForwarded : undefined
      },
      onFault: (error) => this.#fault(to, error),
      onClosed: () => this.#show((tap) => tap.ended(to.connection)),
    }
  }

  on(tap: LiveTap): void {
    this.#live = tap
  }

  off(): void {
    this.#live = undefined
  }

  #show(see: (tap: LiveTap) => void): void {
    if (this.#live === undefined) return
    try {
      see(this.#live)
    } catch (error) {
      this.off()
      const message = `the inspector has failed and sees nothing more: ${errorText(error)}`
      this.#log({ level: 'error', message })
    }
  }

  #fault({ hop, service }: Hop, error: unknown): void {
    this.#log({
      level: 'error',
      message: `a fault while a connection ended: ${errorText(error)}`,
      ...(service !== undefined && { service }),
      details: { hop, stack: error instanceof Error ? error.stack : undefined },
    })
  }
}
