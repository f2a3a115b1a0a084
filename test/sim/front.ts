// The HTTP front of a simulated proxy: connections come to it without a port.

import type { Server as NetServer } from 'node:net'
import { httpServer } from '../../src/gateway/http.js'
import type { Listener, ServedProxy } from '../../src/proxy/listener.js'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import type { HttpServerLimits } from '../../src/transports/http-server/front-limits.js'
import type { SimContext } from './byte-flow.js'
import { PORT } from './http-request.js'
import { plainClient } from './plain-plan.js'
import type { ClientPlan } from './plan.js'
import { SimSocket, type SocketScript } from './socket.js'

/** How long it takes to connect, at most. */
const CONNECT_MS = 5

/** No stream of a run has so many events. */
const EVENTS_ENOUGH = 1024

const connects = { kind: 'connects' } as const

const refused = { kind: 'fails', code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' } as const

/** Takes the place of the system between clients and the server that listens. */
export class SimFront {
  readonly #context: SimContext
  readonly #audience: { readonly come: ClientPlan[]; readonly present: Set<ClientPlan> }
  /** Clients as the proxy counts them: sessions, and requests without one. */
  readonly #served = new Set<ClientPlan>()
  readonly #sockets = new Set<SimSocket>()
  #server: NetServer | undefined
  #arrived = 0
  #forgets = false
  #crowds = false

  constructor(
    context: SimContext,
    audience: { readonly come: ClientPlan[]; readonly present: Set<ClientPlan> },
  ) {
    this.#context = context
    this.#audience = audience
  }

  get listening(): boolean {
    return this.#server?.listening === true
  }

  /** Connections that the proxy has not given back. */
  get sockets(): number {
    return [...this.#sockets].filter(({ destroyed }) => !destroyed).length
  }

  /** Clients that the proxy has not let go. */
  get served(): number {
    return this.#served.size
  }

  /** It keeps so few events that some are gone when their client comes back. */
  get forgets(): boolean {
    return this.#forgets
  }

  /** It takes so few bytes in bodies together that some have to come again. */
  get crowds(): boolean {
    return this.#crowds
  }

  /** Counts what gets to the proxy. */
  next(): number {
    return ++this.#arrived
  }

  async serve(proxy: McpProxy, limits: Partial<HttpServerLimits>): Promise<void> {
    this.#forgets = (limits.events?.eventsMax ?? Infinity) < EVENTS_ENOUGH
    this.#crowds = limits.bodiesBytesMax !== undefined
    const listener: Listener = {
      serve: (served, context) =>
        httpServer({ port: PORT, limits }).serve(this.#counted(proxy, served), context),
    }
    await proxy.serve(listener)
  }

  /** What `listen` does, with nothing behind it. */
  listen(server: NetServer): Promise<number> {
    this.#server = server
    Reflect.set(server, '_handle', { close: () => undefined })
    server.emit('listening')
    return Promise.resolve(PORT)
  }

  connect(name: string, plan: ClientPlan, script: SocketScript): SimSocket {
    const shape = { sent: plan.output, received: plan.input, lingers: true }
    const socket = new SimSocket(this.#context, name, shape, script)
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    // One that is lost before the proxy has it is nobody's failure.
    socket.on('error', () => undefined)
    socket.once('connect', () => this.#accept(socket))
    const how = this.listening ? connects : refused
    socket.connect(how, false, this.#context.dice(`${name} connects`).next() * CONNECT_MS)
    return socket
  }

  #accept(socket: SimSocket): void {
    const server = this.#server
    if (server?.listening !== true) return socket.reset()
    count(server, 1)
    socket.once('close', () => count(server, -1))
    server.emit('connection', socket)
  }

  #counted(proxy: McpProxy, served: ServedProxy): ServedProxy {
    return {
      attach: (connection, caller) => {
        const attached = proxy.attach(connection, caller)
        // Which client it is shows later; it may be any.
        const client = plainClient(`f${this.#audience.come.length}`, { capabilities: ['roots'] })
        this.#audience.come.push(client)
        this.#audience.present.add(client)
        this.#served.add(client)
        const left = (): void => {
          this.#audience.present.delete(client)
          this.#served.delete(client)
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

/** What Node's own sockets tell their server, which is closed when it has none left. */
function count(server: NetServer, more: number): void {
  Reflect.set(server, '_connections', Number(Reflect.get(server, '_connections')) + more)
  const drained: unknown = Reflect.get(server, '_emitCloseIfDrained')
  if (more < 0 && typeof drained === 'function') Reflect.apply(drained, server, [])
}
