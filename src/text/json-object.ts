// Objects that JSON.parse made.

import { parse } from '../jsonrpc/text.js'

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The member or item at the path; undefined if the value has none. */
export function memberAt(value: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (at, name) =>
      typeof at === 'object' && at !== null && Object.hasOwn(at, name) ? Reflect.get(at, name) : undefined,
    value,
  )
}

export function definedIn<T>(members: Readonly<Record<string, T | undefined>>): Record<string, T> {
  const all: Record<string, T> = {}
  for (const [name, value] of Object.entries(members)) if (value !== undefined) all[name] = value
  return all
}

/** The strings of a list; empty if the value is no list. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}

/** Parses the object of a JSON text; undefined for any other text. */
export function objectIn(text: string | undefined): JsonObject | undefined {
  try {
    const value = text === undefined ? undefined : parse(text)
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}
