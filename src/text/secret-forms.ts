// The spellings in which a secret may appear in a text.

import { quote } from '../jsonrpc/text.js'

/** To blank shorter values would blank half of every text. */
const SECRET_LENGTH_MIN = 6

/** A line of a secret that has several (a private key) counts by itself from this length on. */
const LINE_LENGTH_MIN = 16

/** What stands in the place of a secret. */
export const REDACTED = '[redacted]'

/** The value as it is, as in a URL, as in JSON, and line by line. */
export function secretForms(value: string): string[] {
  const lines = value.split(/\r?\n/).filter((line) => line.length >= LINE_LENGTH_MIN)
  const forms = [value, value.trim(), inUrl(value), quote(value).slice(1, -1), ...lines]
  return forms.filter((form) => form.length >= SECRET_LENGTH_MIN)
}

/** Empty for text that no URL can carry (a lone surrogate). */
function inUrl(value: string): string {
  try {
    return encodeURIComponent(value)
  } catch {
    return ''
  }
}
