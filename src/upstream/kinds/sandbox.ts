// The kind `sandbox`: a server inside this process, which runs code of clients where it can do no harm.
//
// Its lanes are connections in memory to one service, which has the sessions. The service and everything below it is
// loaded when the first connection is made, so that a start without a sandbox does not pay for it.

import { Redactor } from '../../text/redactor.js'
import { memoryPair } from '../../transports/memory.js'
import type { Connection } from '../../jsonrpc/connection.js'
import type { DialEnd, Dialed } from '../contracts/dial.js'
import type { InnerService } from '../contracts/inner-service.js'
import type { SandboxServerConfig } from '../contracts/server-config.js'
import type { Upstream } from '../contracts/upstream.js'
import { Pool } from '../pool/pool.js'
import { PrincipalPools } from './principal-pools.js'
import type { PoolSurroundings } from '../pool/pool-parts.js'
import { ProcessRoom } from '../pool/process-room.js'

/** Every session has a queue of its own. */
const CONCURRENCY = 1024

/** Before a service is opened again that could not be. */
const RESTART_DELAY_MS = 1000

export function openSandbox(config: SandboxServerConfig, proxy: PoolSurroundings): Upstream {
  const service = new LazyService(config, proxy)
  const { sessions } = config.sandbox
  const of = (principal: string): Pool => poolOf(principal, config, proxy, service)
  const closed = (): Promise<void> => service.close()
  return new PrincipalPools(config, sessions === 'client', of, closed)
}

function poolOf(
  owner: string,
  config: SandboxServerConfig,
  proxy: PoolSurroundings,
  service: LazyService,
): Pool {
  const pooling = {
    dial: () => new SandboxDialed(config.name, service, owner),
    discretion: new Redactor(config.secrets),
    isolation: 'auto',
    concurrency: CONCURRENCY,
    processes: 1,
    idleTimeoutMs: undefined,
    restart: true,
    restartDelayMs: RESTART_DELAY_MS,
    onTimeout: 'cancel',
    staysForClients: true,
    // It answers at once.
    mirrors: false,
    probeMs: Infinity,
    eraMs: Infinity,
    // It asks nothing.
    namesCalls: false,
    about: () => service.about,
  } as const
  // A connection in memory is no process.
  return new Pool(config, pooling, { ...proxy, room: new ProcessRoom(Infinity) })
}

/** The service of all lanes. */
class LazyService {
  readonly #config: SandboxServerConfig
  readonly #around: PoolSurroundings
  #opening: Promise<InnerService> | undefined
  #service: InnerService | undefined

  constructor(config: SandboxServerConfig, around: PoolSurroundings) {
    this.#config = config
    this.#around = around
    this.#service = around.services.get(config.name)
    // A reload may bring another server of this name, which opens its own.
    around.services.delete(config.name)
    if (this.#service !== undefined) this.#opening = Promise.resolve(this.#service)
  }

  get about(): InnerService['facts'] | undefined {
    return this.#service?.facts
  }

  /** Rejects when no runtime can be used; who asks again tries again. */
  get(): Promise<InnerService> {
    this.#opening ??= this.#open()
    return this.#opening
  }

  async close(): Promise<void> {
    const service = await this.#opening?.catch(() => undefined)
    await service?.close()
  }

  async #open(): Promise<InnerService> {
    const { runtime, log: sink } = this.#around
    const { name: service, sandbox: settings } = this.#config
    const log: typeof sink = (record) => sink({ service, ...record })
    try {
      const { openService } = await import('../../sandbox/service.js')
      this.#service = await openService({ name: service, settings, runtime, log })
      return this.#service
    } catch (error) {
      this.#opening = undefined
      throw error
    }
  }
}

/** One connection to the service. */
class SandboxDialed implements Dialed {
  readonly connection: Connection
  readonly pid = undefined
  readonly ended: Promise<DialEnd>
  #end: (end: DialEnd) => void = () => {}

  constructor(name: string, service: LazyService, owner: string) {
    const [near, far] = memoryPair()
    this.connection = near
    this.ended = new Promise((resolve) => {
      this.#end = resolve
    })
    service.get().then(
      (there) => there.connect(far, owner),
      (error: unknown) => {
        const why = error instanceof Error ? error.message : String(error)
        this.#end({ reason: 'unavailable', message: `'${name}' cannot be started: ${why}` })
      },
    )
  }

  async stop(): Promise<void> {
    await this.connection.close()
    this.#end({ reason: 'closed', message: 'the connection to the sandbox was closed' })
  }
}
