// Values that JSON.parse made.

/** Array.isArray that leaves the items unknown. */
export function isJsonArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** The items of a list, none of anything else. */
export function listOf(value: unknown): readonly unknown[] {
  return isJsonArray(value) ? value : []
}

/** A name as a JSON pointer has it. */
export function inPointer(name: string): string {
  return name.replaceAll('~', '~0').replaceAll('/', '~1')
}

/** The inverse of `inPointer`. */
export function fromPointer(name: string): string {
  return name.replaceAll('~1', '/').replaceAll('~0', '~')
}
