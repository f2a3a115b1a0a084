// Whether a fault struck when it was meant to: what the world looks like in each phase.

import type { PhaseName } from '../faults/phases.js'
import type { Cell } from './cells.js'
import type { Entry } from './ledger.js'

/** Each looks at the moment in which the fault strikes. */
export const phaseChecks: Readonly<Record<PhaseName, (cell: Cell) => boolean>> = {
  'before-ready': (cell) => !cell.has('initialize-read'),
  'during-initialize': (cell) => cell.has('initialize-read') && !cell.has('initialize-answered'),
  'before-initialized': (cell) => cell.has('initialize-answered') && !cell.has('initialized-read'),
  idle: (cell) => cell.has('initialized-read') && cell.calls.every(isAnswered),
  queued: (cell) => cell.calls.some(isRunning) && cell.calls.some(isWaiting),
  'half-written': (cell) => cell.target.unread > 0 && cell.calls.some(isWaiting),
  written: (cell) => cell.calls.some((call) => isRunning(call) && call.progress < 1),
  'progress-seen': (cell) => cell.calls.some((call) => isRunning(call) && call.progress >= 1),
  'half-received': (cell) =>
    cell.target.unheard > 0 && cell.calls.some((call) => call.job?.done === true && !isAnswered(call)),
  cancelled: (cell) =>
    cell.calls.some(
      ({ job, cancelledAt }) => cancelledAt !== undefined && job?.cancelled === true && !job.done,
    ),
  'timed-out': (cell) => cell.calls.some((call) => isAnswered(call) && call.job?.done === false),
  draining: (cell) => cell.isClosing && cell.calls.some(isRunning),
  reloading: (cell) => cell.world.host.ledger.reloadsCount > 0 && cell.calls.some(isRunning),
  'half-open': (cell) => cell.world.host.breakers > 0 && cell.has('initialize-read'),
}

function isAnswered({ answers }: Entry): boolean {
  return answers.length > 0
}

/** The server is at it. */
function isRunning(call: Entry): boolean {
  return call.executed > 0 && call.job?.done === false && !isAnswered(call)
}

/** It was sent, and the server has not seen the whole of it. */
function isWaiting(call: Entry): boolean {
  return call.executed === 0 && !isAnswered(call)
}
