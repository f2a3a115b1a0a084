// The runs that a seed stands for: one of each kind.

import { drawPlan } from './draw.js'
import { withEras } from './draw-eras.js'
import { withHeads } from './draw-heads.js'
import { withHttp } from './draw-http.js'
import type { Plan } from './plan.js'

/** Who comes besides the clients of sessions at the proxy's stdin and stdout. */
export type RunKind = (typeof kinds)[number]

const kinds = ['plain', 'http', 'eras', 'http-eras'] as const

export function drawKind(kind: RunKind, seed: number, ops: number): Plan {
  const plan = drawPlan(seed, ops)
  switch (kind) {
    case 'plain':
      return plan
    case 'http':
      return withHttp(plan)
    case 'eras':
      return withEras(plan)
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
  return kind === 'plain'
    ? ''
    : kind
        .split('-')
        .map((option) => ` --${option}`)
        .join('')
}
