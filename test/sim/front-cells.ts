// What happens to a client over HTTP in every phase of a call: the way between it and
// the proxy has faults of its own.

import { faults, type Phase } from './matrix.js'
import { cellPlan } from './cell-plan.js'
import { type Cell, runCell } from './cells.js'
import type { Outcome } from './outcome.js'
import type { HttpPlan } from './http-request.js'
import { Random } from './random.js'

export type FrontFault = 'cut' | 'vanish' | 'finish' | 'pause'

/** A client that reads nothing does so again after this. */
const PAUSE_MS = 8000

interface Strike {
  readonly what: string
  readonly strike: (cell: Cell) => void
}

export const frontFaults: Readonly<Record<FrontFault, Strike>> = {
  cut: { what: 'the client loses its connections and comes back', strike: ({ client }) => client.cut() },
  vanish: { what: 'the client is gone without a word', strike: ({ client }) => client.vanish() },
  finish: { what: 'the client ends its session', strike: ({ client }) => client.finish() },
  pause: {
    what: 'the client reads nothing for a while',
    strike: ({ client, world }) => {
      client.read(false)
      world.host.clock.after(PAUSE_MS, () => client.read(true))
    },
  },
}

/** Runs one cell with clients over HTTP. */
export function simulateFrontCell(strikes: FrontFault, phase: Phase, seed: number): Outcome {
  const [fault] = faults
  if (fault === undefined) throw new Error('there are no faults')
  const random = Random.of(seed, `${strikes} ${phase.name}`)
  const plan = cellPlan(fault, phase, seed)
  const clients = plan.clients.map((client) => ({
    ...client,
    revision: random.pick(['2025-11-25', '2025-06-18', '2025-03-26']),
    http: httpOf(random),
  }))
  const front = { answerWaitMs: random.pick([250, 20, 1]), eventsMax: 1024 }
  const { strike } = frontFaults[strikes]
  return runCell({ ...plan, clients, front }, { fault, phase, strike })
}

function httpOf(random: Random): HttpPlan {
  return {
    sse: random.chance(0.2),
    session: true,
    listens: random.chance(0.8),
    resumes: random.chance(0.8),
    accept: random.pick(['application/json, text/event-stream', 'text/event-stream, application/json']),
    chunked: random.chance(0.2),
    idleMax: random.int(0, 3),
    againMs: random.pick([0, 50, 500]),
  }
}
