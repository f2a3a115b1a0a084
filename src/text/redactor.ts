// Takes secrets out of text before the text is shown, logged or cut.
//
// Servers repeat credentials, cookies and session ids, in error messages above all. A text is redacted first and cut
// afterwards. If the text was cut before, `beginning` also removes the first part of a secret at its end.

import type { Span } from '../jsonrpc/scan.js'
import { quote } from '../jsonrpc/text.js'

/** The text that replaces a secret. */
export const REDACTED = '[redacted]'

/** Shorter values are not looked for: blanking them would blank half of every text. */
const SECRET_LENGTH_MIN = 6

/** A line of a secret with several lines (a private key) counts by itself from this length on. */
const LINE_LENGTH_MIN = 16

/** At a cut, fewer characters of a secret tell nothing. */
const PART_LENGTH_MIN = 4

/** Most values that are added after the start, such as cookies, session ids and the secrets of reloaded files. */
const ADDED_MAX = 1000

/** A secret that is added again after so many others counts as new, so that newer ones do not displace it while it is used. */
const RENEWED_AFTER = 100

interface Known {
  readonly forms: readonly string[]
  /** How many were added before it. */
  readonly sequence: number
}

const bearer = /\b(Bearer\s+)[\w.~+/=-]{20,}/gi
const userInfo = /(\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}@/g
/** The same two where a cut has left only their beginnings. */
const cutBearer = /\b(Bearer\s+)[\w.~+/=-]+$/gi
const cutUserInfo = /(\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}$/g

/** Each of the four begins with one of these; most texts have none, and this search is the faster one. */
const mayHaveCredentials = /bearer|\/\//i

/** Knows the secrets of one server, or of everything that a log may mention. */
export class Redactor {
  readonly #given: readonly string[]
  /** The one that was added longest ago comes first. */
  readonly #added = new Map<string, Known>()
  /** The same of those that no added one displaces. */
  readonly #kept = new Map<string, Known>()
  #additions = 0
  /** Undefined after something was added. */
  #all: readonly string[] | undefined
  readonly #onAdded: (secrets: readonly string[]) => void

  /** The given secrets are never forgotten. `onAdded` is given those that are added. */
  constructor(secrets: Iterable<string> = [], onAdded: (secrets: readonly string[]) => void = () => {}) {
    this.#given = [...secrets].flatMap(encodedForms)
    this.#onAdded = onAdded
  }

  /** Adds secrets, also those that are used again; beyond a thousand, those that were added longest ago are forgotten. */
  add(...secrets: readonly string[]): void {
    if (secrets.every((secret) => this.#isRecent(secret))) return
    this.#remember(this.#added, secrets, secretForms)
    this.#onAdded(secrets)
  }

  /** Adds a secret that a server may repeat in hex or in base64, as servers repeat no cookie. */
  addCredential(secret: string): void {
    if (!this.#isRecent(secret)) this.add(secret, ...encodedForms(secret))
  }

  /** Adds secrets of files, which are forgotten only for further ones of files. */
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

  /** The text without secrets, cut after about `lengthMax` UTF-16 units. */
  shown(text: string, lengthMax: number): string {
    return text.length > lengthMax ? this.beginning(text.slice(0, lengthMax)) : this.clean(text)
  }

  clean(text: string): string {
    return masked(text, this.ranges(text, false))
  }

  /** A text that has been cut, without secrets and without the first part of one at its end. */
  beginning(cut: string): string {
    // The cut may also have split a character of several bytes.
    const text = cut.replace(/\uFFFD{1,3}$/, '')
    return masked(text, this.ranges(text, true))
  }

  /** The places of secrets and credentials in a text that is shown in pieces; `isCut` says that its end is missing. */
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

/** The whole value of a header field whose variable is not set. */
const schemeAlone = /^\s*(?:Bearer|Basic|Token)\s*$/i

/** The value itself, as in a URL, as in JSON, and line by line. */
function secretForms(value: string): string[] {
  if (schemeAlone.test(value)) return []
  const lines = value.split(/\r?\n/).filter((line) => line.length >= LINE_LENGTH_MIN)
  const forms = [value, value.trim(), inUrl(value), quote(value).slice(1, -1), ...lines]
  return [...new Set(forms)].filter((form) => form.length >= SECRET_LENGTH_MIN)
}

/** Those forms, and the value in hex and in base64, also behind other bytes, as in `Basic` with a user (RFC 7617). */
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

/** The characters that depend on these bytes alone, where so many bytes stand before them. */
function base64Behind(before: number, bytes: Buffer): string {
  const text = Buffer.concat([Buffer.alloc(before), bytes])
    .toString('base64')
    .replace(/=+$/, '')
  const isOpenEnd = (before + bytes.length) % 3 !== 0
  return text.slice(before === 0 ? 0 : before + 1, isOpenEnd ? -1 : undefined)
}

/** Empty for text that no URL can carry (a lone surrogate). */
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

/** Credentials that no configuration names. */
function credentialsIn(text: string, isCut: boolean): Span[] {
  return [bearer, userInfo, ...(isCut ? [cutBearer, cutUserInfo] : [])].flatMap((pattern) =>
    [...text.matchAll(pattern)].map(({ index, 0: whole, 1: before = '' }) => ({
      start: index + before.length,
      end: index + whole.replace(/@$/, '').length,
    })),
  )
}

/** How many of the secret's first characters stand at the end. */
function partAtEnd(text: string, secret: string): number {
  const first = secret.charCodeAt(0)
  const last = text.length - PART_LENGTH_MIN
  for (let at = Math.max(0, text.length - secret.length + 1); at <= last; at++)
    if (text.charCodeAt(at) === first && secret.startsWith(text.slice(at))) return text.length - at
  return 0
}

/** Replaces the ranges, which may overlap; `maskAt` gives what stands in the place of the one that begins there. */
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
