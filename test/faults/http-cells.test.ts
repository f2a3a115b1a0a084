// Faults of a server over HTTP, on real sockets: every one in two phases.
//
// TLS and names are held here by an address that fails.

import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type ConfigurationJson, type LogRecord, createProxy, limits } from '../../src/index.js'
import { at, textAt } from '../integration/support/json.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { HANG_MS, until, untilAnswered } from '../integration/support/waiting.js'
import type { FaultName } from './faults.js'
import type { PhaseName } from './phases.js'
import { AilingHttp } from './support/ailing-http.js'
import { attachCaller } from './support/attached.js'
import { SwiftServers } from './support/swift.js'

/** Of the call that is to time out; any other may take as long as it takes on a busy machine. */
const TIMEOUT_MS = 3000

/** The server is not ready yet in these. */
const handshake: readonly PhaseName[] = ['during-initialize', 'before-initialized', 'half-open']

const cells: readonly (readonly [FaultName, PhaseName])[] = [
  ['rst-before-headers', 'during-initialize'],
  ['rst-before-headers', 'written'],
  ['rst-before-headers', 'idle'],
  ['rst-before-headers', 'half-open'],
  ['rst-mid-headers', 'before-initialized'],
  ['rst-mid-headers', 'queued'],
  ['rst-mid-headers', 'half-open'],
  ['rst-mid-body', 'during-initialize'],
  ['rst-mid-body', 'reloading'],
  ['rst-mid-body', 'idle'],
  ['rst-mid-body', 'half-open'],
  ['rst-mid-event', 'progress-seen'],
  ['rst-mid-event', 'draining'],
  ['rst-mid-event', 'half-open'],
  ['http-404', 'written'],
  ['http-404', 'half-written'],
  ['http-404', 'idle'],
  ['http-404', 'reloading'],
  ['http-404', 'half-open'],
  ['http-429', 'before-initialized'],
  ['http-429', 'written'],
  ['http-429', 'draining'],
  ['http-502', 'queued'],
  ['http-502', 'cancelled'],
  ['http-502', 'timed-out'],
  ['http-502', 'half-open'],
]

/** The breaker opens after as many failures as a server has refusals. */
const breaking = {
  ...limits,
  upstream: { ...limits.upstream, restart: { ...limits.upstream.restart, crashesMax: 2, holdMs: 200 } },
}

describe(
  'a fault of a server over HTTP in a phase',
  { concurrency: 8, skip: process.platform !== 'linux' },
  () => {
    for (const [fault, phase] of cells) test(`${fault}, ${phase}`, (t) => runCell(t, fault, phase))

    for (const [fault, url] of [
      ['dns-failure', 'http://no-such-host.invalid/mcp'],
      ['tls-failure', 'https'],
    ] as const) {
      test(`${fault}, before-ready`, async (t) => {
        const ailing = await AilingHttp.start(t, fault, 'before-ready')
        const { caller, beside } = await open(
          t,
          url === 'https' ? ailing.url.replace('http:', 'https:') : url,
        )
        const { value } = await caller.call('s__nonce', { nonce: 'n' })
        assert.equal(at(value, 'error', 'data', 'service'), 's', JSON.stringify(value))
        await beside()
        assert.deepEqual(caller.misses, { lost: 0, twice: 0, stray: 0, invalid: 0 })
      })
    }
  },
)

interface Opened {
  readonly proxy: Awaited<ReturnType<typeof createProxy>>
  readonly caller: Awaited<ReturnType<typeof attachCaller>>['caller']
  readonly settings: ConfigurationJson
  /** How often the ailing server was left alone, since it failed too often. */
  readonly pauses: () => number
  /** Calls the server beside it. */
  readonly beside: () => Promise<void>
}

async function open(scope: Scope, url: string, phase?: PhaseName): Promise<Opened> {
  const well = new SwiftServers(scratch(scope)).entry('well')
  const retries = phase === 'half-open' ? 0 : 1
  const timeout = phase === 'timed-out' ? TIMEOUT_MS : HANG_MS
  const s = { url, timeout, startTimeout: HANG_MS, retries, retryDelay: 10 }
  const settings = { startupGraceMs: 100, mcpServers: { s, well } }
  const messages: string[] = []
  const log = ({ message }: LogRecord): void => void messages.push(message)
  const proxy = await createProxy(settings, { log, ...(phase === 'half-open' && { limits: breaking }) })
  scope.after(() => proxy.close(0))
  const [{ caller }, other] = [await attachCaller(proxy), await attachCaller(proxy)]
  await other.caller.open()
  let turn = 0
  const beside = async (): Promise<void> => {
    const nonce = `beside-${turn++}`
    const { value } = await other.caller.call('well__hit', { nonce })
    assert.equal(textAt(value, 'result', 'content', 0, 'text'), nonce)
  }
  await beside()
  await caller.open()
  const pauses = (): number => messages.filter((text) => text.includes('left alone for')).length
  return { proxy, caller, settings, pauses, beside }
}

async function runCell(scope: Scope, fault: FaultName, phase: PhaseName): Promise<void> {
  const ailing = await AilingHttp.start(scope, fault, phase)
  const { proxy, caller, settings, pauses, beside } = await open(scope, ailing.url, phase)
  if (!handshake.includes(phase)) await listed(caller)
  if (phase === 'idle') {
    await caller.call('s__nonce', { nonce: 'before' })
    ailing.strikeIdle()
  }
  const filler = phase === 'half-written' ? 'x'.repeat(1 << 20) : ''
  const id = caller.nextId()
  const call = caller.call('s__nonce', { nonce: 'first', filler }, { progressToken: 't' }, id)
  const isHeld = ['queued', 'draining', 'reloading', 'cancelled', 'timed-out'].includes(phase)
  if (isHeld) await ailing.holding()
  const second = phase === 'queued' ? caller.call('s__nonce', { nonce: 'second' }) : undefined
  await beside()
  const closing = phase === 'draining' ? proxy.close(TIMEOUT_MS) : undefined
  if (phase === 'reloading') await proxy.reload({ ...settings, startupGraceMs: 200 })
  if (phase === 'cancelled') caller.notify('notifications/cancelled', { requestId: id })
  else if (phase !== 'timed-out') ailing.strike()
  if (phase === 'cancelled') {
    await caller.request('ping')
    caller.forget(id)
  } else assert((await call).text !== '', 'it is answered')
  await second
  await closing
  if (phase !== 'cancelled') await until(() => ailing.hasStruck)
  if (closing === undefined) {
    await beside()
    await recover(caller)
  }
  // Two that open the breaker, the one that is struck, and the one that is well.
  if (phase === 'half-open') assert.deepEqual([pauses(), ailing.opened], [2, 4])
  assert.equal(ailing.executed.filter((nonce) => nonce === 'first').length <= 1, true, 'it is executed once')
  const { twice, stray, invalid } = caller.misses
  assert.deepEqual({ twice, stray, invalid }, { twice: 0, stray: 0, invalid: 0 }, caller.lastMiss)
}

/** The first calls may find a server that is still starting. */
const listed = (caller: Opened['caller']): Promise<void> =>
  untilAnswered(async () => (await caller.request('tools/list')).text.includes('"s__nonce"'))

async function recover(caller: Opened['caller']): Promise<void> {
  let last: unknown
  let turn = 0
  const isWell = async (): Promise<boolean> => {
    last = (await caller.call('s__nonce', { nonce: `again-${turn++}` })).value
    return at(last, 'result') !== undefined
  }
  await untilAnswered(isWell, () => JSON.stringify(last))
}
