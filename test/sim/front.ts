// The HTTP front of a simulated proxy. Connections reach it without a port.

import type { Server as NetServer } from 'node:net'
import { httpServer } from '../../src/gateway/http.js'
import type { Listener, ServedProxy } from '../../src/proxy/listener.js'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import type { HttpServerLimits } from '../../src/transports/http-server/front-limits.js'
import type { SimContext } from './byte-flow.js'
import { PORT } from './http-requests.js'
import { plainClient } from './plain-plan.js'
import type { ClientPlan } from './plan.js'
import { SimSocket, type SocketScript } from './socket.js'

const CONNECT_MS = 5

/** More events than any stream in a run has. */
const EVENTS_ENOUGH = 1024

const refused = { kind: 'fails', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' } as const

interface Place {
  readonly label: string
  readonly server: NetServer
  /** The balancer sends no more connections there. */
  isLeaving: boolean
}

export class SimFront {
  readonly #context: SimContext
  /** Clients that the proxy still serves, as it counts them: sessions, and requests without one. */
  served = 0
  readonly #sockets = new Set<SimSocket>()
  /** The listening servers, one for each instance. A balancer chooses one for each connection. */
  #places: Place[] = []
  readonly #labels = new Map<SimSocket, string>()
  /** An instance always runs, or will run soon. */
  isKept = false
  /** Some sessions exist only in the memory of the instance that opened them. */
  hasBound = false
  /** The proxy keeps so few events that some are gone when their client resumes. */
  forgets = false
  /** The memory for bodies is so small that clients must send some again. */
  crowds = false
  #arrived = 0

  constructor(context: SimContext) {
    this.#context = context
  }

  get listening(): boolean {
    return this.isKept || this.#open.length > 0
  }

  isEnding(socket: SimSocket | undefined): boolean {
    const label = socket && this.#labels.get(socket)
    return label !== undefined && this.isKept && !this.#open.some((place) => place.label === label)
  }

  get sockets(): number {
    return [...this.#sockets].filter(({ destroyed }) => !destroyed).length
  }

  mayForget(session = ''): boolean {
    return this.hasBound && !this.#open.some(({ label }) => session.startsWith(`${label}.`))
  }

  /** Counts arrivals at the proxy. */
  next(): number {
    // The order in which requests to several instances reach one server is unknown.
    return this.isKept ? Infinity : ++this.#arrived
  }

  async serve(proxy: McpProxy, limits: Partial<HttpServerLimits>): Promise<void> {
    this.forgets = (limits.events?.eventsMax ?? Infinity) < EVENTS_ENOUGH
    this.crowds = limits.bodiesBytesMax !== undefined
    const listener: Listener = {
      serve: (served, context) =>
        httpServer({ port: PORT, limits }).serve(this.#counted(proxy, served), context),
    }
    await proxy.serve(listener)
  }

  /** Replaces `listen` without a real socket. */
  listen(server: NetServer, label = ''): Promise<number> {
    this.#places.push({ label, server, isLeaving: false })
    Reflect.set(server, '_handle', { close: () => undefined })
    server.emit('listening')
    return Promise.resolve(PORT)
  }

  kill(label: string): void {
    this.#places = this.#places.filter((place) => place.label !== label)
    for (const [socket, own] of this.#labels) if (own === label && !socket.destroyed) socket.reset()
  }

  leaves(label: string): void {
    for (const place of this.#places) place.isLeaving ||= place.label === label
  }

  /** Connects to this instance, or to the one that the balancer chooses. */
  connect(name: string, plan: ClientPlan, script: SocketScript, label?: string): SimSocket {
    const shape = { sent: plan.output, received: plan.input, lingers: true }
    const socket = new SimSocket(this.#context, name, shape, script)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // A connection that is lost before the proxy accepts it must not throw.
    socket.on('error', () => undefined)
    const place = this.#choose(name, label)
    if (place !== undefined) {
      this.#labels.set(socket, place.label)
      socket.once('connect', () => this.#accept(socket, place.server))
    }
    const how = place === undefined ? refused : ({ kind: 'connects' } as const)
    socket.connect(how, false, this.#context.dice(`${name} connects`).next() * CONNECT_MS)
    return socket
  }

  get #open(): Place[] {
    return this.#places.filter(({ server, isLeaving }) => server.listening && !isLeaving)
  }

  #choose(name: string, label: string | undefined): Place | undefined {
    const places = this.#open.filter((place) => label === undefined || place.label === label)
    return places.length < 2 ? places[0] : places[this.#context.dice(`${name} balancer`).below(places.length)]
  }

  #accept(socket: SimSocket, server: NetServer): void {
    if (!server.listening) return socket.reset()
    count(server, 1)
    socket.once('close', () => count(server, -1))
    server.emit('connection', socket)
  }

  #counted(proxy: McpProxy, served: ServedProxy): ServedProxy {
    const { ledger } = this.#context
    return {
      attach: (connection, caller) => {
        const attached = proxy.attach(connection, caller)
        // Its capabilities are not known yet, so it may need a process to itself.
        const client = plainClient(`f${ledger.come.length}`, { capabilities: ['roots'] })
        ledger.arrives(client)
        this.served++
        const left = (): void => {
          ledger.present.delete(client)
          this.served--
        }
        void attached.then(({ ended }) => ended).then(left)
        return attached
      },
      status: () => proxy.status(),
      sessions: () => proxy.sessions(),
      isBound: (view) => served.isBound(view),
    }
  }
}

/** Node's own sockets report this to their server, which closes when it has none left. */
function count(server: NetServer, more: number): void {
  Reflect.set(server, '_connections', Number(Reflect.get(server, '_connections')) + more)
  const drained: unknown = Reflect.get(server, '_emitCloseIfDrained')
  if (more < 0 && typeof drained === 'function') Reflect.apply(drained, server, [])
}
