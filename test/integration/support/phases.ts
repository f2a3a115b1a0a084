// Servers that are another one each time they are started, and what they were told.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parsed, textAt } from './json.js'
import { type ServerEntry, nodeProgram } from './programs.js'
import { type Scope, scratch } from './spawned.js'

/** What a server does from one start to the next; see `test/programs/phases.mjs`. */
export interface Phase {
  readonly tools?: readonly string[]
  readonly dies?: readonly string[]
}

export interface Phases {
  readonly entry: ServerEntry
  /** How often it was started. */
  starts(): number
  /** The messages with this method that it was sent, over all starts. */
  told(method: string): unknown[]
}

export function phases(scope: Scope, plan: readonly Phase[], more: ServerEntry = {}): Phases {
  const file = join(scratch(scope), 'said')
  /** Whole ones, while more is written. */
  const lines = (): string[] => (existsSync(file) ? readFileSync(file, 'utf8').split('\n').slice(0, -1) : [])
  return {
    entry: nodeProgram('phases.mjs', { FILE: file, PHASES: JSON.stringify(plan) }, more),
    starts: () => lines().filter((line) => line.startsWith('start ')).length,
    told: (method) =>
      lines()
        .filter((line) => line.startsWith('{'))
        .map((line) => parsed(line))
        .filter((message) => textAt(message, 'method') === method),
  }
}
