// All clients of a proxy whose servers are played by the test.

import { strict as assert } from 'node:assert'
import { Emitter } from '../../../src/events/emitter.js'
import type { ProxyEvents } from '../../../src/events/proxy-events.js'
import type { Connection, Sink } from '../../../src/jsonrpc/connection.js'
import type { Message } from '../../../src/jsonrpc/splice.js'
import { toLine } from '../../../src/jsonrpc/line.js'
import { limits as defaults } from '../../../src/limits.js'
import { ClientDirectory } from '../../../src/proxy/clients/client-directory.js'
import { Unread } from '../../../src/proxy/clients/unread.js'
import { PendingInput } from '../../../src/proxy/input/pending-input.js'
import { ArgumentChecks } from '../../../src/proxy/routing/argument-checks.js'
import { Catalogs } from '../../../src/proxy/routing/catalog.js'
import { type RoutedClient, Router, type RoutingContext } from '../../../src/proxy/routing/router.js'
import type { Lane, Upstream } from '../../../src/upstream/contracts/upstream.js'
import { FakeRuntime } from '../../upstream/support/fake-runtime.js'

const ignore = (): void => {}

export class FakeConnection implements Connection {
  readonly congested = false
  readonly backlogBytes = 0
  readonly #sent: string[] = []
  #sink: Sink | undefined

  start(sink: Sink): void {
    this.#sink = sink
  }

  send(message: Message): void {
    this.#sent.push(message.toString().replace('"jsonrpc":"2.0",', ''))
  }

  read(): void {}

  close(): Promise<void> {
    this.#sink?.closed(undefined)
    return Promise.resolve()
  }

  /** The client ends its input and continues to read. */
  ends(): void {
    this.#sink?.ended()
  }

  /** The client sends these messages, written without `jsonrpc`. */
  says(...messages: readonly string[]): void {
    for (const message of messages) this.#sink?.message(toLine(`{"jsonrpc":"2.0",${message.slice(1)}`))
  }

  /** Messages to the client since the last call. */
  got(): string[] {
    return this.#sent.splice(0)
  }
}

/** The clients of a proxy. `latest` is the newest one, as its servers see it. */
export interface Stage {
  readonly clients: ClientDirectory
  readonly runtime: FakeRuntime
  readonly latest: () => RoutedClient
}

/** The context of routers, with the default limits. */
export function routingOf(runtime: FakeRuntime): RoutingContext {
  return {
    policy: () => undefined,
    gate: undefined,
    checks: new ArgumentChecks(ignore),
    runtime,
    keepLists: ignore,
    startupGraceMs: () => 5000,
    initializeGraceMs: () => 0,
    limits: defaults,
  }
}

/** At most `statelessMax` clients have no session, and one of a principal can be asked. */
export function stageOf(lanes: readonly Lane[] = [], statelessMax = 4): Stage {
  const runtime = new FakeRuntime()
  const { session, pendingInput, stateless } = defaults
  const parts = routingOf(runtime)
  const catalogs = new Catalogs(ignore)
  const events = new Emitter<ProxyEvents>(ignore)
  let latest: RoutedClient | undefined
  const clients = new ClientDirectory({
    ...parts,
    log: ignore,
    events,
    schema: 's',
    tracer: undefined,
    limits: { ...defaults, stateless: { ...stateless, statelessMax, statelessOfOneMax: 1 } },
    unread: new Unread(session.unreadBytesMax),
    pending: new PendingInput({
      runtime,
      schema: 's',
      limits: pendingInput,
      stateKeys: () => [],
      isSigned: () => true,
    }),
    isForOneClient: false,
    isTransparent: () => false,
    identity: () => ({ name: 'p', version: '1' }),
    watch: () => ({}),
    openRouter: (client) => {
      latest = client
      return new Router(client, parts, lanes.map(upstreamOf), catalogs, ignore)
    },
    describe: () => ({ capabilities: '{}', instructions: undefined, isKnown: true }),
  })
  return {
    clients,
    runtime,
    latest: () => {
      assert(latest !== undefined)
      return latest
    },
  }
}

const never = (): never => assert.fail('the test has no server')

export function upstreamOf(lane: Lane): Upstream {
  return {
    config: lane.config,
    isIsolated: false,
    view: lane.view,
    adjust: never,
    adopt: never,
    attach: () => lane,
    status: never,
    retire: never,
    close: never,
  }
}
