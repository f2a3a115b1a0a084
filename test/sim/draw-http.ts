// Which clients of a drawn run come over HTTP. All of it is drawn from dice of its
// own, so that a seed means the same run with and without.

import type { HttpPlan } from './http-request.js'
import type { ClientPlan, Op, Plan } from './plan.js'
import { Random } from './random.js'

/** How often a client loses its connections. */
const CUTS = [0, 0.05, 0.2] as const

/** The same run with an HTTP front, through which about half of the clients come. */
export function withHttp(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'http')
  const share = random.pick([0.4, 0.7, 1])
  const cuts = random.pick(CUTS)
  const clients = plan.clients.map((client, at) =>
    at === 0 || random.chance(share) ? overHttp(random, client) : client,
  )
  const ops = plan.ops.flatMap((op): Op[] => {
    if (!random.chance(cuts)) return [op]
    const client = random.int(0, clients.length - 1)
    return [op, { gapMs: random.next() * 20, kind: 'cut', client }]
  })
  const front = {
    answerWaitMs: random.pick([250, 250, 20, 1]),
    eventsMax: random.pick([1024, 1024, 8]),
    bodiesBytesMax: random.pick([undefined, undefined, 2048]),
  }
  return { ...plan, clients, front, ops }
}

function overHttp(random: Random, client: ClientPlan): ClientPlan {
  const http = drawHttp(random)
  return {
    ...client,
    revision: random.pick(['2025-11-25', '2025-06-18', '2025-03-26', ...(http.sse ? ['2024-11-05'] : [])]),
    manners: http.session ? 'proper' : 'session',
    http,
  }
}

function drawHttp(random: Random): HttpPlan {
  const sse = random.chance(0.15)
  const session = sse || random.chance(0.8)
  const both = ['application/json, text/event-stream', 'text/event-stream, application/json'] as const
  return {
    sse,
    session,
    listens: session && random.chance(0.7),
    resumes: session && random.chance(0.7),
    accept: session ? random.pick(both) : random.pick([...both, 'application/json', '*/*']),
    chunked: random.chance(0.2),
    idleMax: random.int(0, 3),
    againMs: random.pick([0, 50, 1500]),
  }
}
