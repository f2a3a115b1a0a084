// References to secrets in a configuration: `${file:PATH}`, `${cmd:LINE}`, `${keyring:NAME}` and `${input:ID}`.
//
// A configuration is read synchronously, but fetching some secrets takes time. So the reader notes every
// reference. `src/secrets` fetches the secrets, and the configuration is read again. Until then a reference is
// empty, and the reader does not judge a text that contains one.

import type { Environment, InputConfig } from './configuration.js'

/** A reference in its written form. The path of a `file` is absolute. */
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
  /** The only schema whose references are needed. Undefined: those of every enabled schema. */
  readonly schema?: string | undefined
  /** Returns undefined for an unresolved reference, and notes it. */
  resolve(reference: SecretReference): Resolution | undefined
  /** Receives `inputs`, and where and how programs of references start. */
  declare(about: ReferencesAbout): void
}

/** Resolves nothing, for callers that need only the shape of a configuration. */
export const unresolved: References = { resolve: () => undefined, declare: () => undefined }

export class NotedReferences implements References {
  readonly schema: string | undefined
  readonly #noted = new Map<string, SecretReference>()
  readonly #resolutions = new Map<string, Resolution | undefined>()
  #about: ReferencesAbout = { inputs: [], folder: '/' }

  constructor(schema: string | undefined) {
    this.schema = schema
  }

  /** The noted references that are not settled yet. */
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

/** The reference as messages show it. A command line is cut to its program, because its arguments may be secret. */
export function referenceText({ form, name }: SecretReference): string {
  const [program = '', ...args] = form === 'cmd' ? name.trim().split(/\s+/) : [name]
  return `\${${form}:${program}${args.length > 0 ? ' …' : ''}}`
}

/** Splits a command line at spaces outside of quotes; a backslash is literal. Undefined if a quote does not end. */
export function wordsOf(line: string): string[] | undefined {
  const word = /\s*((?:[^\s"']|"[^"]*"|'[^']*')+)\s*/y
  const words: string[] = []
  for (let found = word.exec(line); found !== null; found = word.exec(line)) {
    words.push((found[1] ?? '').replaceAll(/"([^"]*)"|'([^']*)'/g, '$1$2'))
    if (word.lastIndex === line.length) return words
  }
  return undefined
}
