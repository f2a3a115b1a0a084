// The way to every phase of the table, for a server of either kind.

import type { PhaseName } from './matrix.js'
import type { Cell } from './cells.js'
import { CONCURRENCY_OVER_HTTP } from './cell-plan.js'

/** Longer than every call may take. */
const FOREVER = { kind: 'hang', ms: 0, n: 0 } as const

const SLOW = { kind: 'echo', ms: 1000, n: 0 } as const

/** Each brings its cell to the phase and makes the fault strike in it. */
export const phaseDrivers: Readonly<Record<PhaseName, (cell: Cell) => void>> = {
  'before-ready': (cell) => {
    // A process is started with the proxy; a connection is made for the first client.
    if (cell.target.facts.plan.kind === 'stdio') return cell.strike()
    cell.strikeAt('started')
    cell.attach(0)
  },
  'during-initialize': (cell) => {
    cell.target.facts.holdsInitialize = true
    cell.call(SLOW)
    cell.reach('initialize-read')
    cell.strike()
  },
  'before-initialized': (cell) => {
    cell.strikeAt('initialize-answered')
    cell.call(SLOW)
    cell.until(() => cell.struck)
  },
  idle: (cell) => {
    ready(cell)
    cell.strike()
  },
  queued: (cell) => {
    ready(cell)
    const isHttp = cell.target.facts.plan.kind === 'http'
    for (let count = isHttp ? CONCURRENCY_OVER_HTTP : 1; count >= 0; count--) cell.call(SLOW)
    cell.reach('call-read')
    cell.world.pass(100)
    cell.strike()
  },
  'half-written': (cell) => {
    ready(cell)
    cell.call({ kind: 'echo', ms: 10, n: 0, padding: 'p'.repeat(30_000) })
    cell.until(() => cell.target.unread > 20_000)
    cell.until(() => cell.target.unread < 15_000)
    cell.strike()
  },
  written: (cell) => {
    ready(cell)
    cell.call(FOREVER)
    cell.reach('call-read')
    cell.strike()
  },
  'progress-seen': (cell) => {
    ready(cell)
    const entry = cell.call({ kind: 'progress', ms: 800, n: 4 })
    cell.until(() => (entry?.progress ?? 0) >= 1)
    cell.strike()
  },
  'half-received': (cell) => {
    ready(cell)
    cell.call({ kind: 'big', ms: 1, n: 30 })
    cell.until(() => cell.target.unheard > 20_000)
    cell.until(() => cell.target.unheard < 15_000)
    cell.strike()
  },
  cancelled: (cell) => {
    ready(cell)
    const entry = cell.call(FOREVER)
    cell.reach('call-read')
    if (entry !== undefined) cell.client.cancel(entry)
    cell.reach('cancel-read')
    cell.strike()
  },
  'timed-out': (cell) => {
    ready(cell)
    const entry = cell.call(FOREVER)
    cell.until(() => entry?.answers.length === 1)
    cell.strike()
  },
  draining: (cell) => {
    ready(cell)
    cell.call(SLOW)
    cell.reach('call-read')
    // Whoever calls now may be refused.
    for (const { facts } of cell.world.host.servers) cell.world.host.ledger.replaced.add(facts.plan.name)
    cell.isClosing = true
    void cell.world.proxy.close(3000)
    cell.world.settle()
    cell.strike()
  },
  reloading: (cell) => {
    ready(cell)
    cell.call(SLOW)
    cell.reach('call-read')
    cell.world.host.ledger.reloaded(cell.target.facts.plan.name)
    cell.world.reload(cell.target.facts.plan.name, 'retimed')
    cell.world.settle()
    cell.strike()
  },
  'half-open': (cell) => {
    ready(cell)
    breakDown(cell)
    cell.strikeAt('initialize-read')
    // Whether or not anybody asks, one try is let through in the end.
    for (let tries = 0; tries < 20 && !cell.struck; tries++) {
      cell.call({ kind: 'echo', ms: 1, n: 0 })
      cell.world.until(() => cell.struck, 5000)
    }
  },
}

function ready(cell: Cell): void {
  cell.call({ kind: 'echo', ms: 1, n: 0 })
  cell.reach('call-read')
  cell.world.pass(100)
  cell.again('call-read')
}

/** The server fails again and again, until it is left alone. */
function breakDown(cell: Cell): void {
  const { target, world } = cell
  target.strike(
    target.facts.plan.kind === 'http' ? 'dns-failure' : 'enoent-on-restart',
    world.host.dice('break'),
  )
  for (let tries = 0; tries < 20; tries++) {
    cell.call({ kind: 'echo', ms: 1, n: 0 })
    world.pass(1000)
  }
  target.mend()
  cell.again('initialize-read')
}
