// JSON text -> value, and where the mistake is when it is not JSON.
//
// Comments and commas behind the last member are taken for what they are, since the files of several clients have them.
//
// The messages of the engine change with its version and often carry no
// position, so the place is found here; only after `JSON.parse` said no.

/** Where text stops being JSON. Line and column count from 1, columns in UTF-16 units. */
export interface JsonMistake {
  readonly line: number
  readonly column: number
  readonly message: string
}

export type JsonResult =
  | { readonly kind: 'value'; readonly value: unknown }
  | { readonly kind: 'mistake'; readonly mistake: JsonMistake }

export function readJson(text: string): JsonResult {
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'value', value }
  } catch {
    return readLenient(text)
  }
}

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
function readLenient(text: string): JsonResult {
  const open: string[] = []
  const tokens: string[] = []
  let expected: Expected = 'value'
  let at = skip(spaceOrComment, text, 0)
  while (at < text.length || expected !== 'end') {
    if (!/^(?:key|value)/.test(expected)) at = skipLastComma(text, at)
    const end = skip(token, text, at)
    const next: Expected | undefined = end > at ? step(expected, text.charAt(at), open) : undefined
    if (next === undefined) return { kind: 'mistake', mistake: mistakeAt(text, at, expected) }
    tokens.push(text.slice(at, end))
    expected = next
    at = skip(spaceOrComment, text, end)
  }
  const value: unknown = JSON.parse(tokens.join(''))
  return { kind: 'value', value }
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
  const before = text.slice(0, at)
  const line = before.split('\n').length
  const column = at - before.lastIndexOf('\n')
  return { line, column, message: describe(text, at, expected) }
}

function describe(text: string, at: number, expected: Expected): string {
  if (text.startsWith('/*', at)) return 'the comment that begins here does not end'
  const wanted = wantedNames.get(expected) ?? expected
  if (at >= text.length) return `expected ${wanted}, but the file ends`
  // One character only: what stands there may be a secret that lost its quotes.
  return `expected ${wanted}, but found ${String.fromCodePoint(text.codePointAt(at) ?? 0)}`
}
