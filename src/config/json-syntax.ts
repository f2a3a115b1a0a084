// JSON text -> value, where the mistake is when it is not JSON, and which names stand twice in one object.
//
// Comments and commas behind the last member are taken for what they are, since the files of several clients have them.
//
// The messages of the engine change with its version and often carry no position, and it drops a member whose name comes
// again without a word, so the tokens are read here.

import { RepeatedMembers } from './repeated-members.js'

/** A place in a text. Line and column count from 1, columns in UTF-16 units. */
export interface TextPlace {
  readonly line: number
  readonly column: number
}

/** Where text stops being JSON. */
export interface JsonMistake extends TextPlace {
  readonly message: string
}

/** Two members of one object that have the same name. */
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

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or }' | ', or ]' | 'end'

const wantedNames: ReadonlyMap<Expected, string> = new Map([
  ['value', 'a value'],
  ['value or ]', 'a value or ]'],
  ['key', 'a name in quotes'],
  ['key or }', 'a name in quotes or }'],
  ['end', 'the end of the file'],
])

const spaceOrComment = /(?:[ \t\n\r]+|\/\/[^\n\r]*|\/\*[^]*?\*\/)*/y
const comma = /,/y
const bracket = /[}\]]/y
const token =
  // oxlint-disable-next-line no-control-regex -- JSON forbids exactly these in a string.
  /[{}[\],:]|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y

/** Reads token by token, and leaves out comments and last commas. */
export function readJson(text: string): JsonResult {
  const open: string[] = []
  const tokens: string[] = []
  const members = new RepeatedMembers()
  let expected: Expected = 'value'
  let at = skip(spaceOrComment, text, 0)
  while (at < text.length || expected !== 'end') {
    if (!/^(?:key|value)/.test(expected)) at = skipLastComma(text, at)
    const end = skip(token, text, at)
    const next: Expected | undefined = end > at ? step(expected, text.charAt(at), open) : undefined
    if (next === undefined) return { kind: 'mistake', mistake: mistakeAt(text, at, expected) }
    const read = text.slice(at, end)
    tokens.push(read)
    const isName = expected.startsWith('key') && read !== '}'
    members.take(read, at, isName ? String(JSON.parse(read)) : undefined)
    expected = next
    at = skip(spaceOrComment, text, end)
  }
  const value: unknown = JSON.parse(tokens.join(''))
  const repeated = members.found.map(({ path, topKey, first, again }) => ({
    path,
    topKey,
    first: placeOf(text, first),
    again: placeOf(text, again),
  }))
  return { kind: 'value', value, repeated }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

function skipLastComma(text: string, at: number): number {
  const behind = skip(comma, text, at)
  const next = skip(spaceOrComment, text, behind)
  return behind > at && skip(bracket, text, next) > next ? next : at
}

/** What must follow a token that begins with `first`; undefined when the token may not stand there. */
function step(expected: Expected, first: string, open: string[]): Expected | undefined {
  if ('}]'.includes(first) && expected.endsWith(`or ${first}`)) {
    open.pop()
    return afterValue(open)
  }
  switch (expected) {
    case 'value':
    case 'value or ]':
      if (first === '{' || first === '[') open.push(first)
      if (first === '{') return 'key or }'
      if (first === '[') return 'value or ]'
      return '}],:'.includes(first) ? undefined : afterValue(open)
    case 'key':
    case 'key or }':
      return first === '"' ? ':' : undefined
    case ':':
      return first === ':' ? 'value' : undefined
    case ', or }':
      return first === ',' ? 'key' : undefined
    case ', or ]':
      return first === ',' ? 'value' : undefined
    case 'end':
      break
  }
  return undefined
}

function afterValue(open: readonly string[]): Expected {
  const container = open.at(-1)
  if (container === undefined) return 'end'
  return container === '{' ? ', or }' : ', or ]'
}

function mistakeAt(text: string, at: number, expected: Expected): JsonMistake {
  return { ...placeOf(text, at), message: describe(text, at, expected) }
}

function placeOf(text: string, at: number): TextPlace {
  const before = text.slice(0, at)
  return { line: before.split('\n').length, column: at - before.lastIndexOf('\n') }
}

function describe(text: string, at: number, expected: Expected): string {
  if (text.startsWith('/*', at)) return 'the comment that begins here does not end'
  const wanted = wantedNames.get(expected) ?? expected
  if (at >= text.length) return `expected ${wanted}, but the file ends`
  // One character only: what stands there may be a secret that lost its quotes.
  return `expected ${wanted}, but found ${String.fromCodePoint(text.codePointAt(at) ?? 0)}`
}
