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
    return readLenient(withoutExtras(text))
  }
}

/** Of text without comments, whose places are still those of the file. */
function readLenient(text: string): JsonResult {
  try {
    const value: unknown = JSON.parse(text)
    return { kind: 'value', value }
  } catch {
    return { kind: 'mistake', mistake: findMistake(text) }
  }
}

// A string may lack its end here, so that each character is looked at once.
const stringOrComment = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|\/\/[^\n\r]*|\/\*[^]*?(?:\*\/|$)/g
const stringOrComma = /"[^"\\\n]*(?:\\.[^"\\\n]*)*"?|,(?=[ \t\n\r]*[}\]])/g

/** Blanks where comments were, and commas before a closing bracket; everything else stays in its place. */
function withoutExtras(text: string): string {
  const plain = text.replaceAll(stringOrComment, (found) =>
    found.startsWith('"') || isUnfinished(found) ? found : found.replaceAll(/[^\n\r]/g, ' '),
  )
  return plain.replaceAll(stringOrComma, (found, at: number) =>
    found === ',' && endsMember(plain, at) ? ' ' : found,
  )
}

function isUnfinished(comment: string): boolean {
  return comment.startsWith('/*') && !(comment.length > 3 && comment.endsWith('*/'))
}

/** Whether a member stands before this comma, and not another comma or nothing. */
function endsMember(text: string, comma: number): boolean {
  let at = comma - 1
  while (at >= 0 && ' \t\n\r'.includes(text.charAt(at))) at--
  return at >= 0 && !'[{,:'.includes(text.charAt(at))
}

type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or }' | ', or ]' | 'end'

const wantedNames: ReadonlyMap<Expected, string> = new Map([
  ['value', 'a value'],
  ['value or ]', 'a value or ]'],
  ['key', 'a name in quotes'],
  ['key or }', 'a name in quotes or }'],
  ['end', 'the end of the file'],
])

const space = /[ \t\n\r]*/y
const token =
  // oxlint-disable-next-line no-control-regex -- JSON forbids exactly these in a string.
  /[{}[\],:]|"[^"\\\u0000-\u001f]*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})[^"\\\u0000-\u001f]*)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[Ee][+-]?\d+)?(?![\w.])|(?:true|false|null)(?!\w)/y

function findMistake(text: string): JsonMistake {
  const open: string[] = []
  let expected: Expected = 'value'
  let at = 0
  for (;;) {
    at = skip(space, text, at)
    const end = skip(token, text, at)
    const next: Expected | undefined = end > at ? step(expected, text.slice(at, at + 1), open) : undefined
    if (next === undefined) return mistakeAt(text, at, expected)
    expected = next
    at = end
  }
}

function skip(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** What must follow a token that begins with `first`; undefined when the token may not stand there. */
function step(expected: Expected, first: string, open: string[]): Expected | undefined {
  switch (expected) {
    case 'value':
      return afterValueStart(first, open)
    case 'value or ]':
      return first === ']' ? afterClose(open) : afterValueStart(first, open)
    case 'key':
      return first === '"' ? ':' : undefined
    case 'key or }':
      if (first === '}') return afterClose(open)
      return first === '"' ? ':' : undefined
    case ':':
      return first === ':' ? 'value' : undefined
    case ', or }':
      if (first === '}') return afterClose(open)
      return first === ',' ? 'key' : undefined
    case ', or ]':
      if (first === ']') return afterClose(open)
      return first === ',' ? 'value' : undefined
    case 'end':
      break
  }
  return undefined
}

function afterValueStart(first: string, open: string[]): Expected | undefined {
  if (first === '{' || first === '[') {
    open.push(first)
    return first === '{' ? 'key or }' : 'value or ]'
  }
  return '}],:'.includes(first) ? undefined : afterValue(open)
}

function afterClose(open: string[]): Expected {
  open.pop()
  return afterValue(open)
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
