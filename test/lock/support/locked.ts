import { INSTRUCTIONS, lockedAs, type ListedServer } from '../../../src/lock/changes.js'
import { type Content, contentOf } from '../../../src/lock/content.js'
import type { LockedServer } from '../../../src/lock/lock-file.js'

export type Items = Readonly<Record<string, unknown>>

export function content(value: unknown): Content {
  return contentOf(Buffer.from(JSON.stringify(value)))
}

function named(items: Items): ReadonlyMap<string, Content> {
  return new Map(Object.entries(items).map(([name, value]) => [name, content({ name, ...Object(value) })]))
}

export function listed(tools: Items, prompts: Items = {}, instructions?: string): ListedServer {
  return {
    instructions: new Map(instructions === undefined ? [] : [[INSTRUCTIONS, content(instructions)]]),
    tools: named(tools),
    prompts: named(prompts),
  }
}

export function locked(tools: Items, prompts: Items = {}, instructions?: string): LockedServer {
  return lockedAs(listed(tools, prompts, instructions))
}
