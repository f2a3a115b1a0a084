// The header fields of one message, read as strictly as whoever stands between two others must.
//
// RFC 9112, sections 5 and 6. What two readers could understand in two ways is
// refused: a space before a colon, a line that goes on in the next, a control
// character. Every value that came is kept, for what is checked and what is used
// must not be two different values.

import { TOKEN, isFieldValue, isFraming } from './field-syntax.js'
import { HttpSyntaxError } from './syntax-error.js'

/** Spaces and tabs around a value are no part of it; other white space is. */
const FIELD = new RegExp(`^(${TOKEN}):[ \\t]*(.*)$`, 's')

/** Fields by their names in lower case. */
export class HeaderFields {
  /** A message has a dozen fields: to walk through a list of them is faster than to make a map. */
  readonly #names: string[] = []
  readonly #values: string[] = []

  /**
   * Reads what stands behind the first line of a head.
   *
   * @throws HttpSyntaxError when any line is no field
   */
  constructor(lines: readonly string[]) {
    for (let at = 1; at < lines.length; at++) {
      const [name, value] = readField(lines[at] ?? '')
      this.#names.push(name.toLowerCase())
      this.#values.push(value)
    }
  }

  /** Names and values, as they came. */
  *[Symbol.iterator](): IterableIterator<readonly [name: string, value: string]> {
    for (const [index, name] of this.#names.entries()) yield [name, this.#values[index] ?? '']
  }

  /** The first value. */
  get(name: string): string | undefined {
    const index = this.#names.indexOf(name)
    return index < 0 ? undefined : this.#values[index]
  }

  /** Every value. */
  all(name: string): readonly string[] {
    const names = this.#names
    const values: string[] = []
    for (let at = names.indexOf(name); at >= 0; at = names.indexOf(name, at + 1))
      values.push(this.#values[at] ?? '')
    return values
  }

  /** Every value of a field that is a list. */
  list(name: string): string {
    return this.all(name).join(', ')
  }

  /** The name of a field of this kind that came more than once. */
  repeated(isOnce: (name: string) => boolean): string | undefined {
    const names = this.#names
    return names.find((name, i) => names.indexOf(name, i + 1) >= 0 && isOnce(name))
  }

  /** Whether the connection may carry another message of this sender, whose version is HTTP/1.`minor`. */
  keepsAlive(minor: string): boolean {
    const said = this.list('connection').toLowerCase()
    if (said === '') return minor === '1'
    const options = said.split(',').map((option) => option.trim())
    return !options.includes('close') && (minor === '1' || options.includes('keep-alive'))
  }
}

/**
 * The name, as it was sent, and the value of a field.
 *
 * @throws HttpSyntaxError when the line is none
 */
export function readField(line: string): readonly [name: string, value: string] {
  const [, name, text] = FIELD.exec(line) ?? []
  if (name === undefined || text === undefined)
    throw new HttpSyntaxError('its head has a line that is no field')
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end--
  const value = text.slice(0, end)
  if (!isFieldValue(value)) throw new HttpSyntaxError(`its field ${name} has control characters`)
  // White space that many readers do not take for any.
  if (line.includes('\t') && isFraming(name)) throw new HttpSyntaxError(`its field ${name} has a tab`)
  return [name, value]
}
