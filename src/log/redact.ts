// Takes secrets out of text before it is cut, escaped or written.

import { REDACTED, secretForms } from '../text/secret-forms.js'

/**
 * Forms that are looked for. Those of configurations that were read before stay, since what was started with
 * them may still say them; a file whose secrets change all the time would make the list grow for ever.
 */
const formsMax = 10_000

const bearer = /\b(Bearer\s+)[\w.~+/=-]{20,}/gi
const userInfo = /(\/\/[^\s/:@]{0,256}:)[^\s/@]{1,256}@/g

/** The values that may not be shown, and the text without them. */
export class Redactor {
  readonly #secrets = new Set<string>()
  #pattern: RegExp | undefined
  #lengthMax = 0

  /** How much longer than what is kept a text must be read, so that no half of a secret is left at the cut. */
  get lengthMax(): number {
    return this.#lengthMax
  }

  add(values: Iterable<string>): void {
    this.#note(new Set([...values].flatMap(secretForms)))
    if (this.#secrets.size === 0) return
    // Longest first, so that a secret which contains another goes as a whole.
    const forms = [...this.#secrets].sort((a, b) => b.length - a.length)
    this.#lengthMax = forms[0]?.length ?? 0
    this.#pattern = new RegExp(forms.map(quoteForPattern).join('|'), 'g')
  }

  clean(text: string): string {
    const known = this.#pattern === undefined ? text : text.replaceAll(this.#pattern, REDACTED)
    return known.replaceAll(bearer, `$1${REDACTED}`).replaceAll(userInfo, `$1${REDACTED}@`)
  }

  /** Those that were named longest ago make room, but none of the `fresh`. */
  #note(fresh: ReadonlySet<string>): void {
    for (const form of fresh) {
      this.#secrets.delete(form)
      this.#secrets.add(form)
    }
    let excess = this.#secrets.size - Math.max(formsMax, fresh.size)
    for (const oldest of this.#secrets) {
      if (excess-- <= 0) return
      this.#secrets.delete(oldest)
    }
  }
}

function quoteForPattern(text: string): string {
  return text.replaceAll(/[$()*+.?[\\\]^{|}/-]/g, String.raw`\$&`)
}
