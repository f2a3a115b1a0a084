// The parameters of tools. One declaration has the schema that clients see and the reader of a call, so its
// errors use the words of the schema.

import { wrongArgument } from './errors.js'

export type Schema = Readonly<Record<string, unknown>>

export interface Parameter<T> {
  readonly name: string
  readonly schema: Schema
  /** @throws SandboxError for a value that does not fit */
  readonly read: (value: unknown) => T
}

export function string(name: string, description: string, more: Schema = {}): Parameter<string> {
  const read = (value: unknown): string => {
    if (typeof value === 'string') return value
    throw wrongArgument(`Parameter '${name}' must be a string`, name)
  }
  return { name, schema: { type: 'string', description, ...more }, read }
}

export function strings(name: string, description: string): Parameter<readonly string[]> {
  const read = (value: unknown): readonly string[] => {
    if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value
    throw wrongArgument(`Parameter '${name}' must be an array of strings`, name)
  }
  return { name, schema: { type: 'array', items: { type: 'string' }, description }, read }
}

export function enumOf<const T extends string>(
  name: string,
  description: string,
  options: readonly T[],
  usual: T | undefined,
): Parameter<T> {
  const any = string(name, description, { enum: options, default: usual })
  const read = (value: unknown): T => {
    const given = any.read(value)
    const found = options.find((option) => option === given)
    if (found !== undefined) return found
    const names = options.map((option) => `'${option}'`).join(', ')
    throw wrongArgument(`Parameter '${name}' must be one of: [${names}]`, name)
  }
  return { ...any, read }
}

export function int(
  name: string,
  description: string,
  [minimum, maximum = Infinity]: readonly [minimum: number, maximum?: number],
  more: Schema = {},
): Parameter<number> {
  const read = (value: unknown): number => {
    if (typeof value !== 'number' || !Number.isSafeInteger(value))
      throw wrongArgument(`Parameter '${name}' must be an integer`, name)
    if (value < minimum) throw wrongArgument(`Parameter '${name}' must be >= ${minimum}`, name)
    if (value > maximum) throw wrongArgument(`Parameter '${name}' must be <= ${maximum}`, name)
    return value
  }
  const limits = { minimum, ...(maximum < Infinity && { maximum }) }
  return { name, schema: { type: 'integer', description, ...limits, ...more }, read }
}

export class Arguments {
  readonly #values: Schema

  constructor(values: Schema) {
    this.#values = values
  }

  /** Returns undefined for an absent argument. Models write null for an absent one. @throws SandboxError */
  get<T>({ name, read }: Parameter<T>): T | undefined {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
    return value === undefined || value === null ? undefined : read(value)
  }

  need<T>(parameter: Parameter<T>): T {
    const value = this.get(parameter)
    if (value === undefined)
      throw wrongArgument(`Missing required parameter: ${parameter.name}`, parameter.name)
    return value
  }
}
