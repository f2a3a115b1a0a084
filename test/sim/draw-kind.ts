// The runs that a seed stands for: one of each kind.

import { withConsent } from './consent.js'
import { drawPlan } from './draw.js'
import { withEras } from './draw-eras.js'
import { withHttp } from './draw-http.js'
import { withInstances } from './draw-instances.js'
import type { Plan, Op } from './plan.js'
import { type Head, heads } from './request-head.js'
import { Random } from './random.js'

/** Who comes besides the clients of sessions at the proxy's stdin and stdout. */
export type RunKind = (typeof kinds)[number]

const kinds = [
  'plain',
  'http',
  'eras',
  'http-eras',
  'instances',
  'instances-1',
  'instances-2',
  'instances-3',
] as const

export function drawKind(kind: RunKind, seed: number, ops: number): Plan {
  const plan = drawPlan(seed, ops)
  switch (kind) {
    case 'instances':
      return withInstances(plan, undefined)
    case 'instances-1':
    case 'instances-2':
    case 'instances-3':
      return withInstances(plan, Number(kind.slice(-1)))
    // Over HTTP a question without an answer takes a place at the front for as long as it may be answered.
    case 'plain':
      return withConsent(plan)
    case 'eras':
      return withEras(withConsent(plan))
    case 'http':
      return withHttp(plan)
    case 'http-eras':
      return withHeads(withHttp(withEras(plan)))
  }
}

/** As it is written among options; anything else is a plain run. */
export function runKind(text: string | undefined): RunKind {
  return kinds.find((kind) => kind === text) ?? 'plain'
}

/** The option that asks for such a run. */
export function optionOf(kind: RunKind): string {
  if (kind === 'plain') return ''
  const [first, ...more] = kind.split('-')
  if (first === 'instances') return ` --instances ${more[0] ?? 0}`
  return [first, ...more].map((option) => ` --${option}`).join('')
}

// What requests without a session say in their heads, and which of them are given up; drawn from dice of their own.

/** How many operations close a response. */
const CLOSES = [0, 0.05, 0.2] as const

/** The same run, in which some heads say something else than their messages, and some responses are closed. */
function withHeads(plan: Plan): Plan {
  const random = Random.of(plan.seed, 'heads')
  const share = random.pick([0.1, 0.5])
  const closes = random.pick(CLOSES)
  const ops = plan.ops.flatMap((op): Op[] => {
    const head = random.chance(share) ? random.pick(heads) : 'right'
    const returnHead = random.chance(share) ? random.pick(heads) : 'right'
    const headed = withHeadOf(op, { head, returnHead })
    return random.chance(closes) ? [headed, closed(random, plan)] : [headed]
  })
  // A request that stays open keeps the place of its body, of which a small memory has few.
  const front = plan.front && { ...plan.front, bodiesBytesMax: undefined }
  return { ...plan, ...(front !== undefined && { front }), ops }
}

function withHeadOf(op: Op, { head, returnHead }: { readonly head: Head; readonly returnHead: Head }): Op {
  if (op.kind === 'stateless-call' || op.kind === 'stateless-read') return { ...op, head, returnHead }
  return op.kind === 'stateless-list' || op.kind === 'listen' ? { ...op, head } : op
}

function closed(random: Random, { clients }: Plan): Op {
  const client = random.int(0, clients.length - 1)
  const gapMs = random.next() * random.pick([1, 20, 200])
  return { gapMs, kind: 'cancel', client, back: random.int(0, 3) }
}
