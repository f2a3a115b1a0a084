// The servers in a file that is YAML: the list below `mcpServers:`.
//
// Only that list is read, and only in the forms that the documentation of Continue shows: mappings, lists, and texts on one
// line. Anything else is refused with its line. docs/decisions/016 says why no package does this.

import { type FileReading, type ServerEdits, refuse } from './servers-file.js'
import { isObject } from '../../text/json-object.js'

/** A line with something on it; its indentation counts the blanks in front of `text`. */
interface Line {
  readonly number: number
  readonly indent: number
  readonly text: string
}

/** A server with the lines of the file that it takes. */
interface Item {
  readonly name: string
  readonly entry: Readonly<Record<string, unknown>>
  /** Index of its first line, and behind its last one. */
  readonly start: number
  readonly end: number
}

class Mistake extends Error {}

export function readYamlFile(text: string, key: string): FileReading {
  const lines = text.split('\n')
  try {
    const items = itemsOf(lines, key)
    const servers = new Map<string, unknown>(items.map(({ name, entry }) => [name, entry]))
    if (servers.size < items.length) return refuse('has two servers of one name')
    return { kind: 'servers', servers, value: undefined, edit: (edits) => edited(lines, items, edits) }
  } catch (error) {
    if (error instanceof Mistake) return refuse(error.message)
    throw error
  }
}

function itemsOf(lines: readonly string[], key: string): Item[] {
  const heads = lines.flatMap((line, at) => (line.startsWith(`${key}:`) ? [at] : []))
  const [head] = heads
  if (head === undefined) return []
  if (heads.length > 1) throw new Mistake(`has "${key}" twice`)
  if (!/^\w+:\s*(?:#.*)?$/.test(lines[head] ?? '')) throw notRead(head + 1)
  const below = lines.slice(head + 1)
  const length = below.findIndex((line) => /^[^\s#-]/.test(line))
  const block = below
    .slice(0, length === -1 ? undefined : length)
    .flatMap((line, at) => lineOf(line, head + 2 + at) ?? [])
  const [first] = block
  if (first === undefined) return []
  const starts = block.flatMap((line, at) => (line.indent === first.indent ? [at] : []))
  return starts.map((start, at) => itemOf(block.slice(start, starts[at + 1])))
}

function itemOf(block: readonly Line[]): Item {
  const [first] = block
  const last = block.at(-1)
  const [value] = first === undefined || last === undefined ? [] : new Reader(block).list(first.indent)
  if (first === undefined || last === undefined || !isObject(value)) throw notRead(first?.number ?? 1)
  const { name, ...entry } = value
  if (typeof name !== 'string') throw new Mistake(`has a server without a name at line ${first.number}`)
  return { name, entry, start: first.number - 1, end: last.number }
}

/** Undefined for a line without anything but a comment. */
function lineOf(line: string, number: number): Line | undefined {
  const text = line.trim()
  if (text === '' || text.startsWith('#')) return undefined
  if (/^\s*\t/.test(line) || /^(?:---|\.\.\.)/.test(line)) throw notRead(number)
  return { number, indent: line.length - line.trimStart().length, text }
}

function notRead(number: number): Mistake {
  return new Mistake(`has a form at line ${number} that is not read`)
}

function edited(lines: readonly string[], items: readonly Item[], { removed, set }: ServerEdits): string {
  const gone = new Set([...removed, ...set.keys()])
  const there = new Set(items.map(({ name }) => name))
  const added = [...set].filter(([name]) => !there.has(name))
  const after = [...lines]
  const ending = lines.some((line) => line.endsWith('\r')) ? '\r' : ''
  const places = items.filter(({ name }) => gone.has(name))
  for (const [at, { name, start, end }] of [...places.entries()].toReversed()) {
    const own = set.get(name)
    const entries = [...(own === undefined ? [] : [[name, own] as const]), ...(at === 0 ? added : [])]
    const [indent = ''] = /^\s*/.exec(lines[start] ?? '') ?? []
    const texts = entries.flatMap(([each, entry]) =>
      itemLines(each, entry).map((line) => indent + line + ending),
    )
    after.splice(start, end - start, ...texts)
  }
  return after.join('\n')
}

function itemLines(name: string, entry: object): string[] {
  return [
    `- name: ${scalar(name)}`,
    ...Object.entries(entry).flatMap(([key, value]: [string, unknown]) =>
      Array.isArray(value)
        ? [`  ${key}:`, ...value.map((each) => `    - ${scalar(each)}`)]
        : [`  ${key}: ${scalar(value)}`],
    ),
  ]
}

/** Every text in JSON is one in YAML. */
function scalar(value: unknown): string {
  const isPlain = typeof value === 'string' && /^[a-z][a-z0-9]*(?:-[a-z0-9]+)*$/.test(value)
  return isPlain && !/^(?:true|false|null|yes|no|on|off|y|n)$/.test(value) ? value : JSON.stringify(value)
}

const keyPattern = /^("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[A-Za-z_][\w.-]*)\s*:(?:\s+(.*))?$/

/** Reads a block of lines, each of which belongs to a mapping or a list. */
class Reader {
  readonly #lines: Line[]
  #at = 0

  constructor(lines: readonly Line[]) {
    this.#lines = [...lines]
  }

  list(indent: number): unknown[] {
    const values: unknown[] = []
    for (
      let line = this.#here(indent);
      line !== undefined && /^-(?:\s|$)/.test(line.text);
      line = this.#here(indent)
    ) {
      const rest = line.text.slice(1).trimStart()
      if (rest === '' || rest.startsWith('#')) {
        this.#at++
        values.push(this.#block(indent))
      } else if (keyPattern.test(rest) && !/^["']/.test(rest)) {
        const inner = indent + line.text.length - rest.length
        this.#lines[this.#at] = { ...line, indent: inner, text: rest }
        values.push(this.#mapping(inner))
      } else {
        this.#at++
        values.push(scalarOf(rest, line.number))
      }
    }
    this.#assertAbove(indent)
    return values
  }

  #mapping(indent: number): Record<string, unknown> {
    const values: Record<string, unknown> = {}
    for (let line = this.#here(indent); line !== undefined; line = this.#here(indent)) {
      const [, written, rest = ''] = keyPattern.exec(line.text) ?? []
      if (written === undefined) throw notRead(line.number)
      const key = String(scalarOf(written, line.number))
      if (Object.hasOwn(values, key)) throw new Mistake(`has "${key}" twice at line ${line.number}`)
      this.#at++
      values[key] =
        rest === '' || rest.startsWith('#') ? this.#block(indent, true) : scalarOf(rest, line.number)
    }
    this.#assertAbove(indent)
    return values
  }

  /** Reads the block below a line of this indentation; a list may have the indentation of its key. */
  #block(indent: number, isMember = false): unknown {
    const line = this.#lines[this.#at]
    if (line === undefined) return null
    const isList = /^-(?:\s|$)/.test(line.text)
    if (line.indent > indent) return isList ? this.list(line.indent) : this.#mapping(line.indent)
    return isMember && isList && line.indent === indent ? this.list(indent) : null
  }

  #here(indent: number): Line | undefined {
    const line = this.#lines[this.#at]
    return line?.indent === indent ? line : undefined
  }

  /** A text that goes on in the next line, or a line that belongs nowhere. */
  #assertAbove(indent: number): void {
    const line = this.#lines[this.#at]
    if (line !== undefined && line.indent > indent) throw notRead(line.number)
  }
}

/** The numbers of YAML 1.2. */
const numberPattern = /^(?:0x[0-9a-f]+|0o[0-7]+|[-+]?(?:(?:\.\d+|\d+(?:\.\d*)?)(?:e[-+]?\d+)?|\.inf)|\.nan)$/i

function scalarOf(written: string, number: number): unknown {
  const double = /^("(?:[^"\\]|\\["\\/bfnrt]|\\u[0-9A-Fa-f]{4})*")(?:\s+#.*)?$/.exec(written)?.[1]
  if (double !== undefined) return JSON.parse(double)
  const single = /^'((?:[^']|'')*)'(?:\s+#.*)?$/.exec(written)?.[1]
  if (single !== undefined) return single.replaceAll("''", "'")
  const flow = /^\[(.*)\](?:\s+#.*)?$/.exec(written)?.[1]
  if (flow !== undefined) return flowList(flow, number)
  if (/^\{\s*\}(?:\s+#.*)?$/.test(written)) return {}
  const plain = written.replace(/\s+#.*$/, '')
  if (/^[[\]{},&*!|>%@`"'#?-](?:\s|$)|^[[\]{},&*!|>%@`"'#]/.test(plain) || /:(?:\s|$)/.test(plain))
    throw notRead(number)
  if (/^(?:true|false)$/i.test(plain)) return plain.toLowerCase() === 'true'
  if (/^(?:null|~)$/i.test(plain)) return null
  return numberPattern.test(plain) ? Number(plain) : plain
}

/** Texts between brackets, separated by commas. */
function flowList(text: string, number: number): unknown[] {
  const parts = [...text.matchAll(/\s*("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^,'"[\]{}]+?)\s*(?:,|$)/gy)]
  const length = parts.reduce((sum, [whole]) => sum + whole.length, 0)
  if (length < text.trimEnd().length) throw notRead(number)
  return parts.map(([, part = '']) => scalarOf(part, number))
}
