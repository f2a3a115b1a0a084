// The cost of a small call for the proxy where client and server are of different eras, over its cost between old ones.
//
// Only the proxy's own processor time counts, so client and servers are simple and parse. The proxies take turns after a
// millisecond or two, hundreds of times in one round, so that what else the machine does meets all of them alike.

import { type Cell, CELLS, LineEnds, call } from './era-ends.js'
import { type Figure, type Settings, roundsOf } from './figures.js'
import { cpuSeconds } from './process-facts.js'
import { type Row, atMost } from './report.js'
import { median, ratios, roundOrder, spread } from './statistics.js'

const AIM = atMost(1.15)

const TURNS = 200
const QUICK_TURNS = 16
const WARM_UP_TURNS = 320

/** Between two changes to the next proxy. */
const VOLLEYS = 2
/**
 * Calls are made in volleys: the next ones when all before are answered. How many calls one read brings the proxy is then the
 * same in every cell, and does not depend on what else the machine does.
 */
const CALLS_IN_VOLLEY = 64

async function takeTurns(all: readonly LineEnds[], turns: number): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1)
    for (const ends of roundOrder(all, turn))
      for (let n = 0; n < VOLLEYS; n += 1)
        await ends.calls((id) => call(ends.cell, id), CALLS_IN_VOLLEY, CALLS_IN_VOLLEY)
}

function secondsOf({ pid }: LineEnds): number {
  const seconds = cpuSeconds(pid)
  if (seconds === undefined) throw new Error('the system tells no processor time')
  return seconds
}

type Values = ReadonlyMap<Cell, readonly number[]>

/** Microseconds of a call, by cell and round. */
async function measured(settings: Settings): Promise<Values> {
  const turns = settings.quick ? QUICK_TURNS : TURNS
  const calls = turns * VOLLEYS * CALLS_IN_VOLLEY
  const values = new Map<Cell, number[]>(CELLS.map((cell) => [cell, []]))
  const all: LineEnds[] = []
  try {
    for (const cell of CELLS) all.push(await LineEnds.open(cell, settings.place))
    await takeTurns(all, settings.quick ? QUICK_TURNS : WARM_UP_TURNS)
    for (let round = 0; round < roundsOf(settings, 6, 2); round += 1) {
      const before = all.map(secondsOf)
      await takeTurns(all, turns)
      for (const [at, ends] of all.entries()) {
        const seconds = secondsOf(ends) - (before[at] ?? Number.NaN)
        values.get(ends.cell)?.push((seconds * 1e6) / calls)
      }
    }
  } finally {
    await Promise.all(all.map((ends) => ends.close()))
  }
  return values
}

function shown(values: readonly number[]): string {
  return `${median(values).toFixed(1)} µs`
}

export const eras: Figure = async (settings) => {
  const values = await measured(settings)
  const [old = [], ...others] = CELLS.map((cell) => values.get(cell) ?? [])
  return others.map((own, at): Row => ({
    figure: 'processor time of a small call between eras / between old ones',
    way: CELLS[at + 1]?.name ?? '',
    relay: shown(old),
    own: shown(own),
    spread: spread(ratios(own, old)),
    aim: AIM,
  }))
}
