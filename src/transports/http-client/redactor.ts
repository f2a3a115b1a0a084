// Removes secrets from what a server says: many servers repeat credentials, cookies and session ids.
//
// Such a text is often cut, so the beginning of a secret at the end of a text is removed too.

import { REDACTED, secretForms } from '../../text/secret-forms.js'

/** Fewer characters of a secret tell nothing. */
const PART_LENGTH_MIN = 4

/** Of those that are learnt on the way (cookies, sessions, tokens); who lives longer than so many others is forgotten. */
const LEARNT_MAX = 1000

interface Range {
  readonly start: number
  readonly end: number
}

/** Keeps the secrets of one server. */
export class ServerRedactor {
  readonly #given: readonly string[]
  readonly #learnt = new Map<string, readonly string[]>()
  /** Undefined when something was learnt since it was made. */
  #all: readonly string[] | undefined

  constructor(secrets: readonly string[]) {
    this.#given = secrets.flatMap(secretForms)
  }

  /** One that nobody knew before. */
  learn(secret: string): void {
    if (this.#learnt.has(secret)) return
    this.#learnt.set(secret, secretForms(secret))
    this.#all = undefined
    const [oldest] = this.#learnt.keys()
    if (this.#learnt.size > LEARNT_MAX && oldest !== undefined) this.#learnt.delete(oldest)
  }

  /** The text without secrets, and no longer than that but for the marks in it. */
  shown(text: string, lengthMax: number): string {
    return text.length > lengthMax ? this.beginning(text.slice(0, lengthMax)) : this.clean(text)
  }

  clean(text: string): string {
    return masked(text, this.#known(text))
  }

  /** Of a text that was cut, also without what may be the first part of a secret. */
  beginning(cut: string): string {
    // A character of several bytes may have been cut too.
    const text = cut.replace(/\uFFFD{1,3}$/, '')
    const partLength = Math.max(0, ...this.#secrets.map((secret) => partAtEnd(text, secret)))
    const part = { start: text.length - partLength, end: text.length }
    return masked(text, partLength > 0 ? [...this.#known(text), part] : this.#known(text))
  }

  get #secrets(): readonly string[] {
    this.#all ??= [...new Set([...this.#given, ...[...this.#learnt.values()].flat()])]
    return this.#all
  }

  #known(text: string): Range[] {
    return this.#secrets.flatMap((secret) => rangesOf(text, secret))
  }
}

function rangesOf(text: string, secret: string): Range[] {
  const found: Range[] = []
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1))
    found.push({ start, end: start + secret.length })
  return found
}

/** How many of the secret's first characters stand at the end. */
function partAtEnd(text: string, secret: string): number {
  for (let length = Math.min(secret.length - 1, text.length); length >= PART_LENGTH_MIN; length--)
    if (text.endsWith(secret.slice(0, length))) return length
  return 0
}

/** One secret may contain another, or overlap with it; nothing of either stays. */
function masked(text: string, ranges: readonly Range[]): string {
  let shown = ''
  let at = 0
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    if (start >= at) shown += text.slice(at, start) + REDACTED
    at = Math.max(at, end)
  }
  return shown + text.slice(at)
}
