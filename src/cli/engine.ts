// What the engine is told of the program: it runs for long, and holds little that lives long.
//
// The engine counts what buffers hold towards the limit at which it collects the
// whole heap, dead ones of the young generation too, of which it lets 32 MB pile
// up first. The limit of a heap as small as ours, ten megabytes or so, is not far
// above that. So results of a megabyte had a full collection behind every dozen of
// them, which was more than half of all processor time. With a limit of five times
// what lives, where the engine would take four at most, the collections of the
// young generation are enough, which cost next to nothing. (The engine of Node.js 24 takes no heed of it.)
//
// What was long-lived once is made in the old generation from then on, wherever the engine has compiled the place that
// makes it. A session that lasts through a collection or two teaches it that for everything that sessions are made of,
// and then each that ends at once keeps all it ever pointed to until the next full collection, and has it copied on the
// way. That was a fifth of what a short session costs, so everything begins in the young generation here.
//
// The engine compiles what has run for long enough, which is meant for pages with much code that runs once. A proxy is the other
// way round, and one that passes a few large messages, or opens a few sessions, has run little code by then: a
// megabyte cost twice as much for the first two thousand of them. Here code counts as hot more than three times sooner; sooner
// still, the compiling itself becomes what is felt at first. Engines from Node.js 22 on have a compiler between, which does the same,
// and complain on stderr of a setting that they do not have.

import process from 'node:process'

/** Above what lives, in percent of it. */
const GROWTH_PERCENT = 400

/** How much code, in bytes, a function runs before it is looked at; the engine has 66 KiB. */
const LOOK_BYTES = 20_000

/** The first version of the engine with a compiler between. */
const WITH_MIDDLE_TIER = 12

/** A start is not to wait for this. */
const DELAY_MS = 500

interface Timers {
  setTimer(delayMs: number, fire: () => void): unknown
}

/** Sets it a little later, for the whole process: a program may do that, a library never. */
export function tuneEngineSoon(timers: Timers): void {
  timers.setTimer(DELAY_MS, () => void tuneEngine())
}

async function tuneEngine(): Promise<void> {
  const { setFlagsFromString } = await import('node:v8')
  setFlagsFromString(`--heap-growing-percent=${GROWTH_PERCENT}`)
  setFlagsFromString('--no-allocation-site-pretenuring')
  if (Number.parseInt(process.versions.v8, 10) < WITH_MIDDLE_TIER)
    setFlagsFromString(`--interrupt-budget=${LOOK_BYTES}`)
}
