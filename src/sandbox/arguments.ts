// The arguments of a tool call, read one by one; their errors use the words that clients know.

import { wrongArgument } from './errors.js'

/** Reads arguments. @throws SandboxError for the first argument that does not fit */
export class Arguments {
  readonly #values: Readonly<Record<string, unknown>>

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values
  }

  text(name: string): string {
    const value = this.optionalText(name)
    if (value === undefined) throw wrongArgument(`Missing required parameter: ${name}`, name)
    return value
  }

  optionalText(name: string): string | undefined {
    const value = this.#given(name)
    if (value === undefined || typeof value === 'string') return value
    throw wrongArgument(`Parameter '${name}' must be a string`, name)
  }

  texts(name: string): readonly string[] | undefined {
    const value = this.#given(name)
    if (value === undefined) return undefined
    if (Array.isArray(value) && value.every((each): each is string => typeof each === 'string')) return value
    throw wrongArgument(`Parameter '${name}' must be an array of strings`, name)
  }

  choice<const T extends string>(name: string, options: readonly T[]): T | undefined {
    const value = this.optionalText(name)
    const found = options.find((option) => option === value)
    if (value === undefined || found !== undefined) return found
    const names = options.map((option) => `'${option}'`).join(', ')
    throw wrongArgument(`Parameter '${name}' must be one of: [${names}]`, name)
  }

  integer(name: string, minimum: number, maximum: number): number | undefined {
    const value = this.#given(name)
    if (value === undefined) return undefined
    if (typeof value !== 'number' || !Number.isInteger(value))
      throw wrongArgument(`Parameter '${name}' must be an integer`, name)
    if (value < minimum) throw wrongArgument(`Parameter '${name}' must be >= ${minimum}`, name)
    if (value > maximum) throw wrongArgument(`Parameter '${name}' must be <= ${maximum}`, name)
    return value
  }

  /** Models write null for an absent argument, so null counts as absent. */
  #given(name: string): unknown {
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined
    return value ?? undefined
  }
}
