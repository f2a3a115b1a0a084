// Values that JSON.parse made.

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Array.isArray that leaves the items unknown. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** The items of what is a list, none of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : []
}

/** The members of what is an object, none of anything else. */
export function membersOf(value: unknown): readonly (readonly [name: string, value: unknown])[] {
  return isJsonObject(value) ? Object.entries(value) : []
}

/** A name as a JSON pointer has it. */
export function inPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The name that stands so in a JSON pointer. */
export function fromPointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}

/** Every value inside `root`, itself first; a loop, since strangers nest deeper than the stack. */
export function* valuesIn(root: unknown): Generator {
  const waiting: unknown[] = [root]
  while (waiting.length > 0) {
    const value = waiting.pop()
    yield value
    if (typeof value === 'object' && value !== null) {
      for (const inner of Object.values(value)) waiting.push(inner)
    }
  }
}
