// JSON text -> value, the place of the first mistake, and the names that occur twice in one object.
//
// Comments and trailing commas are allowed, because the files of several clients have them. The messages are
// our own: they repeat at most one character, because more could be part of a secret.

import { type Node, type ParseError, parseTree, printParseErrorCode } from 'jsonc-parser'
import { memberPath } from '../text/member-path.js'
import type { FindLine } from './problems.js'

/** Line and column count from 1. Columns are UTF-16 units. */
export interface JsonMistake {
  readonly line: number
  readonly column: number
  readonly message: string
}

export interface Repeated {
  readonly path: string
  /** The top-level member that contains the repeated member, or is it. */
  readonly topKey: string
  /** Text that follows the path, and names the two places. */
  readonly problem: string
}

export type JsonResult =
  | {
      readonly kind: 'value'
      readonly value: unknown
      readonly repeated: readonly Repeated[]
      /** A path without a separate line has the line of the value around it. */
      readonly lineOf: FindLine
    }
  | { readonly kind: 'mistake'; readonly mistake: JsonMistake }

const REPEATED_MAX = 20

export function readJson(text: string): JsonResult {
  const errors: ParseError[] = []
  try {
    const tree = parseTree(text, errors, { allowTrailingComma: true })
    const [error] = errors
    if (tree === undefined || error !== undefined) return { kind: 'mistake', mistake: mistakeOf(text, error) }
    const reading = new TreeReader(text)
    const value = reading.value(tree, '')
    return { kind: 'value', value, repeated: reading.repeated, lineOf: (path) => reading.lineOf(path) }
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    const message = 'its lists and objects are nested too deeply'
    return { kind: 'mistake', mistake: { line: 1, column: 1, message } }
  }
}

const lastStep = /[.[][^.[]*$/

class TreeReader {
  readonly repeated: Repeated[] = []
  readonly #text: string
  /** Offsets in the text, by the paths of members and items. */
  readonly #offsets = new Map<string, number>()

  constructor(text: string) {
    this.#text = text
  }

  /** `Object.fromEntries` makes a key such as `__proto__` an ordinary member. */
  value({ type, value, children = [] }: Node, path: string, topKey?: string): unknown {
    if (type === 'array')
      return children.map((each, index) => {
        const below = `${path}[${index}]`
        this.#offsets.set(below, each.offset)
        return this.value(each, below, topKey)
      })
    if (type !== 'object') return value
    const names = new Map<string, number>()
    const members = children.flatMap(({ offset, children: [name, each] = [] }) => {
      if (name === undefined || each === undefined) return []
      const key = String(name.value)
      const [below, top] = [memberPath(path, key), topKey ?? key]
      const first = names.get(key)
      if (first !== undefined) this.#repeat(below, top, first, offset)
      names.set(key, first ?? offset)
      this.#offsets.set(below, offset)
      return [[key, this.value(each, below, top)] as const]
    })
    return Object.fromEntries(members)
  }

  lineOf(path: string): number | undefined {
    let known = path
    while (known !== '' && !this.#offsets.has(known))
      known = known.slice(0, Math.max(0, known.search(lastStep)))
    const offset = this.#offsets.get(known)
    return offset === undefined ? undefined : placeIn(this.#text, offset).line
  }

  #repeat(path: string, topKey: string, first: number, again: number): void {
    if (this.repeated.length >= REPEATED_MAX) return
    const places = [first, again].map((offset) => placeIn(this.#text, offset))
    const [one, other] = places.map(({ line, column }) => `at line ${line}, column ${column}`)
    this.repeated.push({ path, topKey, problem: `is there twice: ${one}, and ${other}` })
  }
}

function placeIn(text: string, offset: number): Omit<JsonMistake, 'message'> {
  const lines = text.slice(0, offset).split(/\r\n|\r|\n/)
  return { line: lines.length, column: (lines.at(-1) ?? '').length + 1 }
}

function mistakeOf(text: string, error: ParseError | undefined): JsonMistake {
  const code = error === undefined ? '' : printParseErrorCode(error.error)
  const offset = error?.offset ?? 0
  const found = text.codePointAt(offset)
  const but = found === undefined ? 'but the file ends' : `but found ${String.fromCodePoint(found)}`
  const message = brokenTokens.get(code) ?? `expected ${expected.get(code) ?? 'a value'}, ${but}`
  return { ...placeIn(text, offset), message }
}

const expected: ReadonlyMap<string, string> = new Map([
  ['InvalidSymbol', 'a name or text in double quotes, a number, true, false or null'],
  ['PropertyNameExpected', 'a name in double quotes'],
  ['ColonExpected', ':'],
  ['CommaExpected', 'a comma, or the end of the object or list'],
  ['CloseBraceExpected', ', or }'],
  ['CloseBracketExpected', ', or ]'],
  ['EndOfFileExpected', 'the end of the file'],
])

/** Faults inside a token. The mistake is at the beginning of the token. */
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
