// Replays a transcript of HTTP: lines that say what is requested, and what comes back.
//
// The first line is the header of a transcript of messages (docs/replay.md), with `headers`: fields of every request.
// Each further line has one of these:
//
// | `request` | the method and the target. The body is a `frame`, a `text` or a `junk64`, or there is none |
// | `status`  | the head of the response, and its body as `frame`, `text` or `"body":"any"`; without them there is no body, or events follow |
// | `event`   | the next event, and its data as `frame` or `text`; `id` and `retry` are compared when they are given, null means none |
// | `end`     | the response ends here |
// | `cut`     | the client drops the connection |
//
// `on` names the request where several are in progress. `headers` are the fields of a request (null leaves out a field of
// the header) or those that a response must have (null: must not have). Placeholders are those of transcripts of messages;
// `$id:NAME` is replaced in targets, fields and frames that are sent. Lines are gone through in their order.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { dirname } from 'node:path'
import process from 'node:process'
import { type JsonValue, readTree } from '../../src/ask/json-value.js'
import { quote } from '../../src/jsonrpc/text.js'
import { realRuntime } from '../../src/real-runtime.js'
import { compareFrames } from '../../src/replay/compare.js'
import { type Header, readHeader, sentContent } from '../../src/replay/transcript.js'
import { FrameReader, filled } from '../../src/replay/pattern.js'
import { gatewayOf } from '../integration/support/gateway.js'
import { parsed } from '../integration/support/json.js'
import { HANG_MS } from '../integration/support/waiting.js'
import { type Scope, patient, reference } from '../replay/support.js'
import { Exchange, type Part } from './exchange.js'

/** How long a response may take to end after its last expected part. */
const END_WAIT_MS = HANG_MS

const keys =
  'dir request on headers status event id retry end cut frame text junk64 body expect comment'.split(' ')

type Kind = Part['kind']

/** Replays a transcript against a gateway with its configuration, or against the reference server if it has none. */
export async function replayHttp(scope: Scope, file: string): Promise<void> {
  const lines = linesOf(readFileSync(file))
  const { config } = readHead(lines[0]).header
  if (config === undefined) return replayLines(lines, new URL(await reference(scope)))
  const text = config.replaceAll('$node', process.execPath).replaceAll('$here', dirname(file))
  const { origin } = await gatewayOf(scope, { startupGraceMs: HANG_MS, ...Object(parsed(text)) }, patient)
  return replayLines(lines, new URL(`${origin}/mcp`))
}

/** Replays lines against a server that listens already. */
export async function replayLines([head, ...lines]: readonly Buffer[], url: URL): Promise<void> {
  const replay = new HttpReplay(url, readHead(head).fields)
  try {
    for (const [index, line] of lines.entries()) await at(index + 2, () => replay.line(line, index + 2))
    await replay.finish()
  } finally {
    replay.close()
  }
}

async function at(line: number, run: () => Promise<void>): Promise<void> {
  try {
    await run()
  } catch (error) {
    throw new Error(`line ${line}: ${String(error)}`, { cause: error })
  }
}

function linesOf(content: Buffer): Buffer[] {
  const lines = content.toString().split('\n')
  return lines.filter((line) => line !== '').map((line) => Buffer.from(line))
}

function readHead(line: Buffer = Buffer.from('')): { header: Header; fields: JsonValue | undefined } {
  const tree = readTree(line)
  assert(tree.kind === 'object')
  const { headers: _, ...header } = Object(JSON.parse(line.toString()))
  return { header: readHeader(readTree(Buffer.from(JSON.stringify(header)))), fields: tree.member('headers') }
}

class HttpReplay {
  readonly #url: URL
  readonly #fields: JsonValue | undefined
  readonly #runtime = realRuntime()
  readonly #exchanges = new Map<string, Exchange>()
  /** The exchanges that were not cut, with their lines. Their names may have been reused. */
  readonly #open = new Map<Exchange, number>()
  readonly #values = new Map<string, string>()

  constructor(url: URL, fields: JsonValue | undefined) {
    this.#url = url
    this.#fields = fields
  }

  async line(bytes: Buffer, number: number): Promise<void> {
    const tree = readTree(bytes)
    assert(tree.kind === 'object')
    for (const { name } of tree.parts) assert(keys.includes(name), `"${name}" is not known`)
    const on = tree.string('on') ?? ''
    if (tree.member('request') !== undefined) return this.#ask(tree, on, number)
    if (tree.parts.every(({ name }) => name === 'comment')) return
    const exchange = this.#exchanges.get(on) ?? assert.fail('there is no such request')
    if (tree.member('cut') !== undefined) return this.#cut(exchange)
    if (tree.member('end') !== undefined) return void (await this.#next(exchange, 'end'))
    if (tree.member('event') !== undefined) return this.#event(tree, exchange)
    return this.#response(tree, exchange)
  }

  /** Checks that no more parts arrive. The stream of a GET may stay open. */
  async finish(): Promise<void> {
    for (const [{ method, parts }, line] of this.#open) {
      const part = await parts.next(this.#runtime.now() + (method === 'GET' ? 0 : END_WAIT_MS))
      const isOver =
        part.kind === 'end' || part.kind === 'ended' || (method === 'GET' && part.kind === 'too-late')
      assert(isOver, `line ${line}: ${described(part)} is not expected`)
    }
  }

  close(): void {
    for (const exchange of this.#open.keys()) exchange.cut()
    void this.#runtime.close()
  }

  #cut(exchange: Exchange): void {
    exchange.cut()
    this.#open.delete(exchange)
  }

  #ask(tree: JsonValue, on: string, number: number): void {
    const [, method = '', target = ''] = /^([A-Z]+) (\S+)$/.exec(tree.string('request') ?? '') ?? []
    const content = sentContent(tree)
    const body = content?.kind === 'frame' ? this.#filled(content.bytes) : content?.bytes
    const path = this.#text(target) ?? assert.fail(`${target} has no value`)
    const url = path === '/mcp' ? this.#url : new URL(path, this.#url)
    const headers = this.#written(tree.member('headers'), body)
    const exchange = new Exchange({ method, url, headers, body }, this.#runtime)
    this.#exchanges.set(on, exchange)
    this.#open.set(exchange, number)
  }

  #filled(bytes: Buffer): Buffer {
    return filled({ bytes, fills: new FrameReader(false, this.#names).fills(bytes) }, this.#values)
  }

  /** Alternating names and values: the fields of the line, then those of the header and the required ones. */
  #written(fields: JsonValue | undefined, body: Buffer | undefined): string[] {
    const given = membersOf(fields)
    const isGiven = (name: string): boolean =>
      given.some((field) => field.name.toLowerCase() === name.toLowerCase())
    const common = membersOf(this.#fields).filter(
      ({ name }) => !isGiven(name) && (body !== undefined || name.toLowerCase() !== 'content-type'),
    )
    const needed = [
      ['Host', this.#url.host],
      ...(body === undefined ? [] : [['Content-Length', String(body.length)]]),
    ]
    const written = [...common, ...given].flatMap(({ name, value }) =>
      (value.kind === 'array' ? value.parts.map((part) => part.value) : [value]).flatMap((item) => {
        const text = item.kind === 'null' ? undefined : this.#text(item.text)
        return text === undefined ? [] : [name, text]
      }),
    )
    return [...needed.filter(([name = '']) => !isGiven(name)).flat(), ...written]
  }

  /** A text to send. Undefined for a placeholder without a value. */
  #text(text: string): string | undefined {
    const name = /^\$id:([\w-]+)$/.exec(text)?.[1]
    if (name === undefined) return text
    const value = this.#values.get(name)
    return value === undefined ? undefined : readTree(Buffer.from(value)).text
  }

  async #response(tree: JsonValue, exchange: Exchange): Promise<void> {
    const head = await this.#next(exchange, 'response')
    const status = tree.member('status')
    assert(status?.kind === 'number', 'a line is one of request, status, event, end, cut')
    assert.equal(head.status, Number(status.text), `the status is ${head.status}, not ${status.text}`)
    const fields = membersOf(tree.member('headers'))
    for (const { name, value } of fields) {
      const key = name.toLowerCase()
      this.#compareText(value, head.headers.get(key), key)
    }
    if (head.body !== undefined) return this.#payload(tree, head.body)
    // Without an expectation in the transcript, the server may answer with an event.
    if (sentContent(tree) === undefined && tree.member('body') === undefined) return
    assert(!fields.some(({ name }) => name.toLowerCase() === 'content-type'), 'events come instead of a body')
    let event = await this.#next(exchange, 'event')
    while (event.data.length === 0) event = await this.#next(exchange, 'event')
    this.#payload(tree, event.data)
  }

  async #event(tree: JsonValue, exchange: Exchange): Promise<void> {
    const event = await this.#next(exchange, 'event')
    assert.equal(event.type, tree.string('event'))
    for (const name of ['id', 'retry'] as const) {
      const node = tree.member(name)
      if (node !== undefined) this.#compareText(node, event[name], name)
    }
    this.#payload(tree, event.data)
  }

  async #next<K extends Kind>(exchange: Exchange, kind: K): Promise<Extract<Part, { kind: K }>> {
    const part = await exchange.parts.next(this.#runtime.now() + HANG_MS)
    if (isOfKind(part, kind)) return part
    return assert.fail(`a ${described(part)} came in place of: ${kind}`)
  }

  #payload(tree: JsonValue, came: Buffer): void {
    const content = sentContent(tree)
    const text = tree.member('text')
    if (content?.kind === 'frame')
      this.#compare(content.bytes, came, tree.string('expect') === 'json' ? 'json' : 'bytes', 'body')
    else if (text !== undefined) this.#compareText(text, came.toString(), 'body')
    else if (tree.member('body') === undefined) assert.equal(came.toString(), '', 'no body is expected')
  }

  /** Compares a text with the value of a line: a pattern, or null for a missing text. */
  #compareText(node: JsonValue, came: string | undefined, what: string): void {
    if (node.kind === 'null') return assert.equal(came, undefined, `${what} is there: ${came}`)
    assert(came !== undefined, `${what} is missing`)
    this.#compare(node.bytes, Buffer.from(quote(came)), 'json', what)
  }

  #compare(expected: Buffer, came: Buffer, mode: 'bytes' | 'json', what: string): void {
    const pattern = new FrameReader(false, this.#names).pattern(expected)
    const received = { bytes: came, tree: readTree(came) }
    const verdict = compareFrames(pattern, received, mode, this.#values)
    if (verdict.kind === 'equal') {
      for (const [name, value] of verdict.bound) this.#values.set(name, value)
      return
    }
    const { path, problem } = verdict.difference
    assert.fail(
      `${what}: ${path} ${problem}\n  expected ${expected.toString()}\n  came     ${came.toString()}`,
    )
  }

  get #names(): Set<string> {
    return new Set(this.#values.keys())
  }
}

function isOfKind<K extends Kind>(part: { kind: string }, kind: K): part is Extract<Part, { kind: K }> {
  return part.kind === kind
}

function membersOf(node: JsonValue | undefined): JsonValue['parts'] {
  return node?.kind === 'object' ? node.parts : []
}

function described(part: Part | { readonly kind: 'ended' | 'too-late' }): string {
  if (part.kind === 'response')
    return `response with HTTP ${part.status} ${part.body?.toString() ?? '(events)'}`
  if (part.kind === 'event') return `event ${part.type}: ${part.data.toString()}`
  return part.kind === 'broken' ? part.why : part.kind
}
