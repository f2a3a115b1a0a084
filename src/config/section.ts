// Reads one JSON object of a configuration, field by field.

import { nearest } from '../text/nearest.js'
import type { Kind } from './kinds.js'
import { isObject } from './kinds.js'
import { memberPath, whatItIs } from './problems.js'
import type { Findings } from './problems.js'

/** One key of the configuration: its kind, its default, and its purpose. */
export interface Field<T> {
  readonly kind: Kind<T>
  readonly fallback: T
  /** One line; the published schema and the documentation show it. */
  readonly about: string
}

/** A key that has a default. */
export function field<T>(kind: Kind<T>, fallback: T, about: string): Field<T> {
  return { kind, fallback, about }
}

/** A key that has none. */
export function optional<T>(kind: Kind<T>, about: string): Field<T | undefined> {
  return { kind, fallback: undefined, about }
}

/** The keys of one section, named as in the file. */
export type FieldsOf<T> = { readonly [K in keyof T]: Field<T[K]> }

/** An object of the file; it remembers which keys were asked for, so that the others can be named. */
export class Section {
  readonly path: string
  readonly findings: Findings
  readonly #members: Readonly<Record<string, unknown>>
  readonly #known = new Set<string>()

  private constructor(members: Readonly<Record<string, unknown>>, path: string, findings: Findings) {
    this.#members = members
    this.path = path
    this.findings = findings
  }

  /** The section, or undefined after reporting that the value is not an object. */
  static of(value: unknown, path: string, findings: Findings): Section | undefined {
    if (isObject(value)) return new Section(value, path, findings)
    findings.problem(path, whatItIs(value, true), 'must be an object')
    return undefined
  }

  /** A section that reads as if nothing stood in the file. */
  static empty(path: string, findings: Findings): Section {
    return new Section({}, path, findings)
  }

  has(key: string): boolean {
    this.#known.add(key)
    // Of an object that no file was read from, a member may be there without a value.
    return Object.hasOwn(this.#members, key) && this.#members[key] !== undefined
  }

  /** The value under a key as it stands, undefined when absent. */
  raw(key: string): unknown {
    return this.has(key) ? this.#members[key] : undefined
  }

  pathOf(key: string): string {
    return memberPath(this.path, key)
  }

  /** The value of a field, or its default when it is absent or was reported as wrong. */
  read<T, K extends keyof T & string>(fields: FieldsOf<T>, key: K): T[K] {
    const field: Field<T[K]> = fields[key]
    if (!this.has(key)) return field.fallback
    const spot = { path: this.pathOf(key), findings: this.findings }
    return field.kind.read(this.#members[key], spot) ?? field.fallback
  }

  /** The object under a key; an empty one when it is absent or was reported as wrong. */
  section(key: string): Section {
    const path = this.pathOf(key)
    const found = this.has(key) ? Section.of(this.#members[key], path, this.findings) : undefined
    return found ?? Section.empty(path, this.findings)
  }

  /** The members under a key, in the order of the file. */
  entries(key: string): [string, unknown][] {
    const value = this.raw(key)
    if (isObject(value)) return Object.entries(value)
    this.findings.problem(this.pathOf(key), whatItIs(value, true), 'must be an object')
    return []
  }

  /** Warns of every key that nothing asked for; `hints` say what to write in place of some. */
  warnOfUnknownKeys(hints: ReadonlyMap<string, string> = new Map()): void {
    for (const key of Object.keys(this.#members)) {
      if (this.#known.has(key) || key === '$comment') continue
      const [near] = nearest(key, this.#known)
      const hint = hints.get(key)
      const meant = hint !== undefined ? `; ${hint}` : near === undefined ? '' : `; did you mean "${near}"?`
      this.findings.warn(this.pathOf(key), `is not a known key here and is ignored${meant}`)
    }
  }
}
