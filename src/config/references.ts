// Secrets that a configuration refers to: `${file:PATH}`, `${cmd:LINE}`, `${keyring:NAME}` and `${input:ID}`.
//
// A configuration is read synchronously, and some of these take time. So the reader notes every reference that it meets,
// and the configuration is read again once `src/secrets` has resolved them. An unresolved reference is empty, and the
// reader draws no conclusion from a text that has one.

import type { Environment, InputConfig } from './configuration.js'

/** A reference as the file has it; the path of a `file` is absolute. */
export interface SecretReference {
  readonly form: 'file' | 'cmd' | 'keyring' | 'input'
  readonly name: string
}

export type Resolution =
  { readonly kind: 'value'; readonly value: string } | { readonly kind: 'failed'; readonly why: string }

export interface ReferencesAbout {
  readonly inputs: readonly InputConfig[]
  /** Absolute. */
  readonly folder: string
  /** Variables of programs that differ from those of the proxy. */
  readonly env?: Environment
}

export interface References {
  /** The only schema whose references are needed; undefined needs those of every enabled one. */
  readonly schema?: string | undefined
  /** Undefined notes the reference, and leaves it unresolved. */
  resolve(reference: SecretReference): Resolution | undefined
  /** Tells what the file says of its references: `inputs`, and where and how programs are started. */
  declare(about: ReferencesAbout): void
}

/** Resolves nothing, for readers that need only the shape of a configuration. */
export const unresolved: References = { resolve: () => undefined, declare: () => undefined }

export class NotedReferences implements References {
  readonly schema: string | undefined
  readonly #noted = new Map<string, SecretReference>()
  readonly #resolutions = new Map<string, Resolution | undefined>()
  #about: ReferencesAbout = { inputs: [], folder: '/' }

  constructor(schema: string | undefined) {
    this.schema = schema
  }

  /** The references that were noted and that `settle` has not had yet. */
  get pending(): readonly SecretReference[] {
    return [...this.#noted].flatMap(([key, each]) => (this.#resolutions.has(key) ? [] : [each]))
  }

  get about(): ReferencesAbout {
    return this.#about
  }

  /** Undefined leaves the reference unresolved for good. */
  settle(reference: SecretReference, resolution: Resolution | undefined): void {
    this.#resolutions.set(keyOf(reference), resolution)
  }

  resolve(reference: SecretReference): Resolution | undefined {
    const key = keyOf(reference)
    this.#noted.set(key, reference)
    return this.#resolutions.get(key)
  }

  declare(about: ReferencesAbout): void {
    this.#about = about
  }
}

function keyOf({ form, name }: SecretReference): string {
  return `${form}:${name}`
}

/** The reference in messages: of a command line only the program, since its arguments may be secret. */
export function referenceText({ form, name }: SecretReference): string {
  const [program = '', ...args] = form === 'cmd' ? name.trim().split(/\s+/) : [name]
  return `\${${form}:${program}${args.length > 0 ? ' …' : ''}}`
}

/** The program and the arguments of a command line, split at spaces outside of quotes; a backslash means itself. Undefined when a quote does not end. */
export function wordsOf(line: string): string[] | undefined {
  const word = /\s*((?:[^\s"']|"[^"]*"|'[^']*')+)\s*/y
  const words: string[] = []
  for (let found = word.exec(line); found !== null; found = word.exec(line)) {
    words.push((found[1] ?? '').replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'))
    if (word.lastIndex === line.length) return words
  }
  return undefined
}
