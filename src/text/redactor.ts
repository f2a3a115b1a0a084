// Removes secrets from text before the text is shown, logged or cut.
//
// Servers repeat credentials, cookies and session ids, mostly in error messages. Redact first and cut later.
// If a text is cut already, `beginning` also removes the first part of a secret at its end.

import type { Span } from '../jsonrpc/scan.js'
import { quote } from '../jsonrpc/text.js'

export const REDACTED = '[redacted]'

/** Shorter values are not redacted, because they occur in harmless text. */
const SECRET_LENGTH_MIN = 6

/** The shortest line of a secret with several lines (a private key) that is redacted by itself. */
const LINE_LENGTH_MIN = 16

/** Fewer characters of a secret at a cut reveal nothing. */
const PART_LENGTH_MIN = 4

/** The most values added after the start, such as cookies, session ids and the secrets of reloaded files. */
const ADDED_MAX = 1000

/** After this many additions, a repeated secret counts as new, so newer secrets do not displace a used one. */
const RENEWED_AFTER = 100

interface Known {
  readonly forms: readonly string[]
  /** The number of additions before this one. */
  readonly sequence: number
}

const bearer = /\b(Bearer\s+)[\w.~+/=-]{20,}/gi
const userInfo = /(\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}@/g
/** The same patterns for a text whose end is cut. */
const cutBearer = /\b(Bearer\s+)[\w.~+/=-]+$/gi
const cutUserInfo = /(\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}$/g

/** A text without these words matches none of the four patterns. This search is faster. */
const mayHaveCredentials = /bearer|\/\//i

/** Redacts the secrets of one server, or of everything that a log may mention. */
export class Redactor {
  readonly #given: readonly string[]
  /** The secret that was added first comes first. */
  readonly #added = new Map<string, Known>()
  /** The secrets that added secrets do not displace, in the same order. */
  readonly #kept = new Map<string, Known>()
  #additions = 0
  /** Undefined after an addition. */
  #all: readonly string[] | undefined
  readonly #onAdded: (secrets: readonly string[]) => void

  /** `secrets` are never forgotten. `onAdded` receives later additions. */
  constructor(secrets: Iterable<string> = [], onAdded: (secrets: readonly string[]) => void = () => {}) {
    this.#given = [...secrets].flatMap(encodedForms)
    this.#onAdded = onAdded
  }

  /** Adds secrets, or marks them as used again. Above a thousand, the oldest additions are forgotten. */
  add(...secrets: readonly string[]): void {
    if (secrets.every((secret) => this.#isRecent(secret))) return
    this.#remember(this.#added, secrets, secretForms)
    this.#onAdded(secrets)
  }

  /** Adds a secret that a server may repeat in hex or in base64. Servers do not repeat cookies that way. */
  addCredential(secret: string): void {
    if (!this.#isRecent(secret)) this.add(secret, ...encodedForms(secret))
  }

  /** Adds secrets of files. Only later secrets of files displace them. */
  keep(...secrets: readonly string[]): void {
    this.#remember(this.#kept, secrets, encodedForms)
  }

  #isRecent(secret: string): boolean {
    const known = this.#added.get(secret)
    return known !== undefined && this.#additions - known.sequence <= RENEWED_AFTER
  }

  #remember(
    known: Map<string, Known>,
    secrets: readonly string[],
    formsOf: (secret: string) => string[],
  ): void {
    for (const secret of secrets) {
      const forms = known.get(secret)?.forms ?? formsOf(secret)
      known.delete(secret)
      known.set(secret, { forms, sequence: ++this.#additions })
    }
    this.#all = undefined
    let excess = known.size - Math.max(ADDED_MAX, secrets.length)
    for (const oldest of known.keys()) {
      if (excess-- <= 0) return
      known.delete(oldest)
    }
  }

  /** Redacts the text and cuts it after about `lengthMax` UTF-16 units. */
  shown(text: string, lengthMax: number): string {
    return text.length > lengthMax ? this.beginning(text.slice(0, lengthMax)) : this.clean(text)
  }

  clean(text: string): string {
    return masked(text, this.ranges(text, false))
  }

  /** Redacts a text that has been cut, including the first part of a secret at its end. */
  beginning(cut: string): string {
    // The cut may also have split a character of several bytes.
    const text = cut.replace(/\uFFFD{1,3}$/, '')
    return masked(text, this.ranges(text, true))
  }

  /** The places of secrets and credentials in text that is shown in pieces. `isCut` means that its end is missing. */
  ranges(text: string, isCut: boolean): Span[] {
    const partLength = isCut ? this.#partLength(text) : 0
    const part = { start: text.length - partLength, end: text.length }
    const known = this.#secrets.flatMap((secret) => rangesOf(text, secret))
    if (partLength > 0) known.push(part)
    return mayHaveCredentials.test(text) ? [...known, ...credentialsIn(text, isCut)] : known
  }

  #partLength(text: string): number {
    return Math.max(0, ...this.#secrets.map((secret) => partAtEnd(text, secret)))
  }

  get #secrets(): readonly string[] {
    const added = (): string[] =>
      [this.#kept, this.#added].flatMap((known) => [...known.values()].flatMap(({ forms }) => forms))
    this.#all ??= [...new Set([...this.#given, ...added()])]
    return this.#all
  }
}

/** Matches a header value whose variable is not set. */
const schemeAlone = /^\s*(?:Bearer|Basic|Token)\s*$/i

/** The value, its forms in a URL and in JSON, and its lines. */
function secretForms(value: string): string[] {
  if (schemeAlone.test(value)) return []
  const lines = value.split(/\r?\n/).filter((line) => line.length >= LINE_LENGTH_MIN)
  const forms = [value, value.trim(), inUrl(value), quote(value).slice(1, -1), ...lines]
  return [...new Set(forms)].filter((form) => form.length >= SECRET_LENGTH_MIN)
}

/** The same forms, and the value in hex and in base64, also after other bytes, as in `Basic` (RFC 7617). */
function encodedForms(value: string): string[] {
  const forms = secretForms(value)
  if (forms.length === 0) return []
  const bytes = Buffer.from(value)
  const hex = bytes.toString('hex')
  const base64 = [0, 1, 2].map((before) => base64Behind(before, bytes))
  const inBase64 = base64.flatMap((text) => [text, text.replaceAll('+', '-').replaceAll('/', '_')])
  return [
    ...forms,
    hex,
    hex.toUpperCase(),
    ...new Set(inBase64.filter((form) => form.length >= SECRET_LENGTH_MIN)),
  ]
}

/** The base64 characters that depend only on these bytes, if `before` bytes precede them. */
function base64Behind(before: number, bytes: Buffer): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isOpenEnd = (before + bytes.length) % 3 !== 0
  return text.slice(before === 0 ? 0 : before + 1, isOpenEnd ? -1 : undefined)
}

/** Returns an empty text for a value that no URL can contain (a lone surrogate). */
function inUrl(value: string): string {
  try {
    return encodeURIComponent(value)
  } catch {
    return ''
  }
}

function rangesOf(text: string, secret: string): Span[] {
  const found: Span[] = []
  for (let start = text.indexOf(secret); start >= 0; start = text.indexOf(secret, start + 1))
    found.push({ start, end: start + secret.length })
  return found
}

/** Finds credentials that no configuration names. */
function credentialsIn(text: string, isCut: boolean): Span[] {
  return [bearer, userInfo, ...(isCut ? [cutBearer, cutUserInfo] : [])].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: whole, 1: before = '' }) => ({
      start: index + before.length,
      end: index + whole.replace(/@$/, '').length,
    })),
  )
}

/** The number of first characters of the secret that end the text. */
function partAtEnd(text: string, secret: string): number {
  const first = secret.charCodeAt(0)
  const last = text.length - PART_LENGTH_MIN
  for (let at = Math.max(0, text.length - secret.length + 1); at <= last; at++)
    if (text.charCodeAt(at) === first && secret.startsWith(text.slice(at))) return text.length - at
  return 0
}

/** Replaces the ranges, which may overlap. `maskAt` returns the text for the range that begins there. */
export function masked(
  text: string,
  ranges: readonly Span[],
  maskAt: (start: number) => string = () => REDACTED,
): string {
  let shown = ''
  let at = 0
  for (const { start, end } of ranges.toSorted((a, b) => a.start - b.start)) {
    if (start >= at) shown += text.slice(at, start) + maskAt(start)
    at = Math.max(at, end)
  }
  return shown + text.slice(at)
}
