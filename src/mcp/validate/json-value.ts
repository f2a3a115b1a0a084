// Values that JSON.parse made.

export type JsonObject = Readonly<Record<string, unknown>>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Array.isArray that leaves the items unknown. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
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
