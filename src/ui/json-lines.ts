// Splits a JSON text into the lines of a tree. Each line is a range of the text.

export interface JsonLine {
  readonly depth: number
  /** The key with its quotes; empty if the line has no key. */
  readonly key: Range
  /** A whole scalar, or one bracket of an object or an array. */
  readonly value: Range
  /** How many lines below belong to this line, with the closing bracket; 0 for a scalar. */
  readonly below: number
  readonly children: number
  readonly isClose: boolean
}

export interface Range {
  readonly start: number
  readonly end: number
}

/** The page shows a longer tree as text. */
const LINES_MAX = 50_000

type Unfinished = { -readonly [Name in keyof JsonLine]: JsonLine[Name] }

const tokens = /\s*(?:("(?:[^"\\]|\\[^])*")|([{}[\],:])|([^\s{}[\],:"]+))/y

/** Returns undefined for a text that is no JSON, or has too many lines. */
export function jsonLines(text: string): readonly JsonLine[] | undefined {
  const lines: Unfinished[] = []
  const open: { readonly at: number; readonly line: Unfinished | undefined }[] = []
  let key: Range = nothing
  const token = new RegExp(tokens)
  for (;;) {
    const match = token.exec(text)
    if (match === null) break
    const [whole, string, sign, scalar] = match
    const end = token.lastIndex
    const value = { start: end - whole.trimStart().length, end }
    if (string !== undefined && /^\s*:/.test(text.slice(end, end + 64))) {
      key = value
      continue
    }
    if (sign === ',' || sign === ':') continue
    if (sign === '}' || sign === ']') {
      const { at, line } = open.pop() ?? {}
      if (line === undefined || at === undefined) return undefined
      lines.push(lineAt(open.length, nothing, value, true))
      line.below = lines.length - 1 - at
    } else if (string !== undefined || sign !== undefined || scalar !== undefined) {
      const line = lineAt(open.length, key, value, false)
      const parent = open.at(-1)?.line
      if (parent !== undefined) parent.children++
      if (sign !== undefined) open.push({ at: lines.length, line })
      lines.push(line)
    }
    key = nothing
    if (lines.length > LINES_MAX) return undefined
  }
  const isWhole = open.length === 0 && lines.length > 0 && /^\s*$/.test(text.slice(lines.at(-1)?.value.end))
  return isWhole ? lines : undefined
}

const nothing: Range = { start: 0, end: 0 }

function lineAt(depth: number, key: Range, value: Range, isClose: boolean): Unfinished {
  return { depth, key, value, below: 0, children: 0, isClose }
}

/** Returns the indices of the visible lines while the lines in `folded` are folded. */
export function visibleLines(lines: readonly JsonLine[], folded: ReadonlySet<number>): readonly number[] {
  const visible: number[] = []
  for (let at = 0; at < lines.length; at++) {
    visible.push(at)
    if (folded.has(at)) at += lines[at]?.below ?? 0
  }
  return visible
}
