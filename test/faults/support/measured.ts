// A scenario made of a body that measures, and of promises that it checks.

import type { Scope } from '../../integration/support/spawned.js'
import type { FaultFigure, FaultSettings, Scenario } from '../scenario.js'
import { type Findings, type Run, round } from './run.js'

export type Body = (scope: Scope, run: Run) => Promise<Findings>

export function measured(promise: string, countDefault: number, body: Body): Scenario {
  return { promise, countDefault, run: (settings) => run(body, settings) }
}

async function run(body: Body, { count, seed = 1, cli, progress }: FaultSettings): Promise<FaultFigure> {
  const ends: (() => void | Promise<void>)[] = []
  const scope: Scope = { after: (end) => void ends.unshift(end) }
  try {
    const { figures, broken } = await body(scope, { count, seed, cli, say: progress })
    const line = Object.entries(figures)
      .map(([name, value]) => `${name} ${typeof value === 'number' ? round(value) : value}`)
      .join(', ')
    return {
      line: [line, ...broken.map((what) => `BROKEN: ${what}`)].join('\n  '),
      holds: broken.length === 0,
    }
  } finally {
    for (const end of ends) await end()
  }
}
