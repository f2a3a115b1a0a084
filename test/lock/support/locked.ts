// Servers of tests, as the lock sees them.

import type { Content, ListedServer, LockedServer } from '../../../src/lock/compare.js'
import { withBaseline } from '../../../src/lock/accept.js'
import { readComparable } from '../../../src/lock/json.js'
import { lockContentOf, noInstructions } from '../../../src/lock/lock-text.js'

export type Items = Readonly<Record<string, unknown>>

export function content(value: unknown): Content {
  return lockContentOf(readComparable(Buffer.from(JSON.stringify(value))))
}

function named(items: Items): ReadonlyMap<string, Content> {
  return new Map(Object.entries(items).map(([name, value]) => [name, content(value)]))
}

export function listed(tools: Items, prompts: Items = {}, instructions?: string, client = ''): ListedServer {
  return {
    client,
    isCurrent: true,
    instructions: instructions === undefined ? noInstructions : content(instructions),
    lists: { tools: named(tools), prompts: named(prompts) },
  }
}

export function locked(tools: Items, prompts: Items = {}, instructions?: string): LockedServer {
  return withBaseline(undefined, listed(tools, prompts, instructions))
}
