// JSON text -> value, the place of the first mistake, and the names that occur twice in one object.
//
// Comments and commas after the last member are allowed, because the files of several clients have them.
//
// `jsonc-parser` finds the tokens. The value is what `JSON.parse` makes of them, so that a key such as `__proto__` is only a
// key. The messages are our own: they must not repeat more than one character, which may belong to a secret.

import {
  type JSONPath,
  type JSONVisitor,
  type ParseErrorCode,
  printParseErrorCode,
  visit,
} from 'jsonc-parser'
import { memberPath } from '../text/member-path.js'
import type { FindLine } from './problems.js'

/** A place in a text. Line and column count from 1, columns in UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

export interface JsonMistake extends TextPlace {
  readonly message: string
}

export interface Repeated {
  readonly path: string
  /** The member of the whole file that they are, or are part of. */
  readonly topKey: string
  readonly first: TextPlace
  readonly again: TextPlace
}

export type JsonResult =
  | { readonly kind: 'value'; readonly value: unknown; readonly repeated: readonly Repeated[] }
  | { readonly kind: 'mistake'; readonly mistake: JsonMistake }

class Mistake extends Error {
  readonly mistake: JsonMistake

  constructor(mistake: JsonMistake) {
    super(mistake.message)
    this.mistake = mistake
  }
}

const REPEATED_MAX = 20

export function readJson(text: string): JsonResult {
  const reading = new Reading(text)
  try {
    visit(text, reading, { allowTrailingComma: true })
  } catch (error) {
    if (error instanceof Mistake) return { kind: 'mistake', mistake: error.mistake }
    if (!(error instanceof RangeError)) throw error
    const message = 'its lists and objects are nested too deeply'
    return { kind: 'mistake', mistake: { line: 1, column: 1, message } }
  }
  return { kind: 'value', value: JSON.parse(reading.tokens.join('')), repeated: reading.repeated }
}

class Reading implements JSONVisitor {
  /** Without comments, and without commas after the last member. */
  readonly tokens: string[] = []
  readonly repeated: Repeated[] = []
  readonly #text: string
  /** For each object that has not ended, the names in it and where each came first; undefined for a list. */
  readonly #open: (Map<string, TextPlace> | undefined)[] = []

  constructor(text: string) {
    this.#text = text
  }

  readonly onObjectBegin = (): void => this.#begin('{', new Map())
  readonly onObjectEnd = (): void => this.#end('}')
  readonly onArrayBegin = (): void => this.#begin('[', undefined)
  readonly onArrayEnd = (): void => this.#end(']')
  readonly onSeparator = (character: string): void => void this.tokens.push(character)

  readonly onLiteralValue = (_value: unknown, offset: number, length: number): void =>
    void this.tokens.push(this.#text.slice(offset, offset + length))

  readonly onObjectProperty = (
    name: string,
    offset: number,
    length: number,
    line: number,
    column: number,
    pathOfObject: () => JSONPath,
  ): void => {
    this.tokens.push(this.#text.slice(offset, offset + length))
    const names = this.#open.at(-1)
    const again = { line: line + 1, column: column + 1 }
    const first = names?.get(name)
    if (first === undefined) names?.set(name, again)
    else if (this.repeated.length < REPEATED_MAX) {
      const path = [...pathOfObject(), name]
      this.repeated.push({ path: written(path), topKey: String(path[0]), first, again })
    }
  }

  readonly onError = (
    code: ParseErrorCode,
    offset: number,
    _length: number,
    line: number,
    column: number,
  ): never => {
    const message = this.#message(printParseErrorCode(code), offset)
    throw new Mistake({ line: line + 1, column: column + 1, message })
  }

  #begin(token: string, names: Map<string, TextPlace> | undefined): void {
    this.tokens.push(token)
    this.#open.push(names)
  }

  #end(token: string): void {
    if (this.tokens.at(-1) === ',') this.tokens.pop()
    this.tokens.push(token)
    this.#open.pop()
  }

  #message(code: string, offset: number): string {
    const broken = brokenTokens.get(code)
    if (broken !== undefined) return broken
    const wanted = this.#wanted(code)
    const found = this.#text.codePointAt(offset)
    if (found === undefined) return `expected ${wanted}, but the file ends`
    return `expected ${wanted}, but found ${String.fromCodePoint(found)}`
  }

  #wanted(code: string): string {
    const last = this.tokens.at(-1)
    const isInObject = this.#open.at(-1) !== undefined
    if (code === 'ColonExpected') return ':'
    if (code === 'CommaExpected' || code.startsWith('Close')) return isInObject ? ', or }' : ', or ]'
    if (last !== undefined && this.#open.length === 0) return 'the end of the file'
    if (last === undefined) return '{'
    if (last === '[') return 'a value or ]'
    if (last === '{') return 'a name in double quotes or }'
    return isInObject && last === ',' ? 'a name in double quotes' : 'a value'
  }
}

/** Faults inside of a token; the mistake is at its beginning. */
const brokenTokens: ReadonlyMap<string, string> = new Map([
  ['UnexpectedEndOfComment', 'the comment that begins here does not end'],
  ['UnexpectedEndOfString', 'the text that begins here does not end on its line'],
  [
    'InvalidEscapeCharacter',
    'the text that begins here has a single backslash; JSON writes a backslash as two',
  ],
  ['InvalidUnicode', 'the text that begins here has \\u without four hexadecimal digits'],
  ['InvalidCharacter', 'the text that begins here has a tab or another control character; write \\t'],
])

/** Finds lines in a text that is JSON; what has no line has that of what it is in. The text is read at the first question. */
export function lineFinder(text: string): FindLine {
  let lines: ReadonlyMap<string, number> | undefined
  return (path) => {
    lines ??= linesOf(text)
    let known = path
    while (known !== '' && !lines.has(known)) known = known.slice(0, Math.max(0, known.search(lastStep)))
    return lines.get(known)
  }
}

const lastStep = /[.[][^.[]*$/

function linesOf(text: string): Map<string, number> {
  const lines = new Map<string, number>()
  const note = (
    _offset: number,
    _length: number,
    line: number,
    _column: number,
    path: () => JSONPath,
  ): void => void lines.set(written(path()), line + 1)
  const reading: JSONVisitor = {
    onObjectBegin: note,
    onArrayBegin: note,
    onLiteralValue: (_value, ...place) => note(...place),
  }
  visit(text, reading, { allowTrailingComma: true })
  lines.delete('')
  return lines
}

function written(path: JSONPath): string {
  return path.reduce<string>(
    (above, key) => (typeof key === 'number' ? `${above}[${key}]` : memberPath(above, key)),
    '',
  )
}
