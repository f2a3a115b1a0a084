// Reads a transcript file: a header line, then lines with messages to send and messages to expect.
//
// A file may contain several transcripts, each with its header. A recording becomes one transcript for each client.
// An unknown key is an error, because a misspelt `optional` would silently change the fixture.

import { readFile } from 'node:fs/promises'
import { LF } from '../jsonrpc/ascii.js'
import { FrameError } from '../jsonrpc/jsonrpc-errors.js'
import { readMessage } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { errorText } from '../text/error-text.js'
import { type JsonValue, jsonTreeOf, readTree } from '../ask/json-value.js'
import type { Mode } from './compare.js'
import { type Fill, FrameReader, type Pattern, PatternError } from './pattern.js'

/** The messages of one client, and their answers. */
export interface Transcript {
  readonly file: string
  /** The file, with the number of the transcript if the file has several. */
  readonly name: string
  readonly header: Header
  readonly steps: readonly Step[]
  /** Undefined if the transcript replays over both transports. */
  readonly need: Need | undefined
  /** The schema of the client, in a recording over HTTP. */
  readonly schema: string | undefined
}

export type Carrier = 'stdio' | 'http'

interface Need {
  readonly carrier: Carrier
  readonly why: string
}

export interface Header {
  /** Whether `--record` made the file. Then the replay finds values that the server chooses anew by their places. */
  readonly recorded: boolean
  readonly transport: Carrier | undefined
  /** The command of a server; undefined replays against the proxy. */
  readonly command: readonly string[] | undefined
  readonly args: readonly string[] | undefined
  /** The proxy's configuration, as JSON. */
  readonly config: string | undefined
  /** The command that starts a network service for the configuration on `$servicePort`. */
  readonly service: readonly string[] | undefined
  readonly env: ReadonlyMap<string, string>
}

export class TranscriptError extends Error {
  override readonly name = 'TranscriptError'

  constructor(file: string, line: number | undefined, problem: string) {
    super(`${file}${line === undefined ? '' : `:${line}`}: ${problem}`)
  }
}

export interface Sent {
  readonly kind: 'send'
  /** Counted from 1. */
  readonly line: number
  readonly bytes: Buffer
  readonly lineEnd: string
  /** Whether `bytes` is one message that may contain line breaks. */
  readonly whole: boolean
  readonly fills: readonly Fill[]
}

export interface Expected {
  readonly kind: 'expect'
  readonly line: number
  readonly bytes: Buffer
  /** Undefined if the line is no JSON. The replay compares the bytes of such a line. */
  readonly pattern: Pattern | undefined
  readonly mode: Mode
  readonly optional: boolean
  /** Whether the message may come anywhere among the messages of the server. */
  readonly unordered: boolean
}

export interface Exit {
  readonly kind: 'exit'
  readonly line: number
  readonly code: number
}

export type Step = Sent | Expected | Exit

/** @throws TranscriptError that names the line */
export async function readTranscripts(file: string): Promise<Transcript[]> {
  const content = await readFile(file).catch((error: unknown) => {
    throw new TranscriptError(file, undefined, errorText(error))
  })
  return parseTranscripts(file, content)
}

export function parseTranscripts(file: string, content: Buffer): Transcript[] {
  const parts: Part[] = []
  for (const [index, bytes] of linesOf(content).entries()) {
    try {
      if (bytes.some((byte) => byte > 0x20)) addLine(parts, bytes, index + 1)
    } catch (error) {
      if (!(error instanceof FrameError || error instanceof PatternError)) throw error
      const where = error instanceof FrameError ? ` at byte ${error.offset} of the line` : ''
      throw new TranscriptError(file, index + 1, `${error.message}${where}`)
    }
  }
  const clients = parts.flatMap(({ header, clients }) =>
    [...clients.values()].map(({ steps, schema }) => {
      return { header, steps, schema, need: needOf(header, steps) }
    }),
  )
  if (clients.length === 0) throw new TranscriptError(file, undefined, 'there is nothing to replay in it')
  return clients.map((client, at) => {
    return { ...client, file, name: clients.length === 1 ? file : `${file}#${at + 1}` }
  })
}

function linesOf(content: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < content.length;) {
    const found = content.indexOf(LF, start)
    const end = found < 0 ? content.length : found + 1
    lines.push(content.subarray(start, end))
    start = end
  }
  return lines
}

interface Part {
  readonly header: Header
  readonly clients: Map<number, Client>
}

interface Client {
  readonly steps: Step[]
  readonly reader: FrameReader
  schema: string | undefined
}

function addLine(parts: Part[], bytes: Buffer, line: number): void {
  const tree = readTree(bytes)
  if (tree.member('mcps') !== undefined) {
    parts.push({ header: readHeader(tree), clients: new Map() })
    return
  }
  const part = parts.at(-1)
  if (part === undefined) throw new PatternError('the first line must be a header: {"mcps":1}')
  assertMembers(tree, lineForms)
  // A replay ignores comments, and messages between the proxy and its servers.
  const isIgnored = tree.parts.every(({ name }) => name === 'comment')
  if (isIgnored || tree.string('hop') === 'upstream') return
  const connection = Number(tree.member('conn')?.text ?? 1)
  const { header, clients } = part
  const reader = new FrameReader(header.recorded)
  const client = clients.get(connection) ?? { steps: [], reader, schema: undefined }
  clients.set(connection, client)
  client.steps.push(readStep(tree, line, client.reader))
  client.schema ??= tree.string('schema')
}

function needOf({ transport }: Header, steps: readonly Step[]): Need | undefined {
  if (transport !== undefined) return { carrier: transport, why: 'its header says so' }
  const exit = steps.find(({ kind }) => kind === 'exit')
  if (exit !== undefined) return { carrier: 'stdio', why: `line ${exit.line} expects the process to end` }
  const odd = steps.find(
    (step) => step.kind === 'send' && readMessage(toLine(step.bytes)).kind === 'unreadable',
  )
  return odd && { carrier: 'stdio', why: `line ${odd.line} sends what is not one message` }
}

interface Form {
  readonly must: string
  readonly fits: (node: JsonValue) => boolean
}

const any: Form = { must: '', fits: () => true }
const flag: Form = { must: 'true or false', fits: ({ kind }) => kind === 'boolean' }
const object: Form = { must: 'an object', fits: ({ kind }) => kind === 'object' }
const wholeNumber: Form = {
  must: 'a whole number',
  fits: ({ kind, text }) => kind === 'number' && Number.isSafeInteger(Number(text)),
}
const texts: Form = {
  must: 'a list of strings',
  fits: ({ kind, parts }) => kind === 'array' && parts.every(({ value }) => value.kind === 'string'),
}

function oneOf(...words: readonly string[]): Form {
  const must = words.map((each) => `"${each}"`).join(' or ')
  return { must, fits: (node) => node.kind === 'string' && words.includes(node.text) }
}

type Forms = Readonly<Record<string, Form>>

function each(form: Form, ...names: readonly string[]): Forms {
  return Object.fromEntries(names.map((name) => [name, form]))
}

const headerForms: Forms = {
  mcps: { must: '1, the version of the format', fits: ({ text }) => text === '1' },
  ...each(any, 'title', 'redacted', 'cut', 'revision', 'at'),
  recorded: flag,
  transport: oneOf('stdio', 'http'),
  // A string describes how a recording was made. A list is the command of a server.
  command: { must: texts.must, fits: (node) => node.kind === 'string' || texts.fits(node) },
  ...each(texts, 'args', 'service'),
  ...each(object, 'config', 'env'),
}

const lineForms: Forms = {
  ...each(any, 't', 'service', 'schema', 'frame', 'text', 'junk64', 'eol', 'comment'),
  hop: oneOf('client', 'upstream'),
  dir: oneOf('in', 'out'),
  expect: oneOf('bytes', 'json'),
  ...each(flag, 'whole', 'optional', 'unordered'),
  ...each(wholeNumber, 'conn', 'exit'),
}

function assertMembers(tree: JsonValue, forms: Forms): void {
  if (tree.kind !== 'object') throw new PatternError('a line must be an object')
  for (const { name, value } of tree.parts) {
    const form = Object.hasOwn(forms, name) ? forms[name] : undefined
    if (form === undefined)
      throw new PatternError(`"${name}" is not known; there is ${Object.keys(forms).join(', ')}`)
    if (!form.fits(value)) throw new PatternError(`"${name}" must be ${form.must}`)
  }
}

/** @throws PatternError if the header is malformed */
export function readHeader(tree: JsonValue): Header {
  assertMembers(tree, headerForms)
  const command = tree.member('command')
  const transport = tree.string('transport')
  return {
    recorded: isTrue(tree, 'recorded'),
    transport: transport === 'http' || transport === 'stdio' ? transport : undefined,
    command: command?.kind === 'string' ? undefined : textsOf(command),
    args: textsOf(tree.member('args')),
    config: tree.member('config')?.raw,
    service: textsOf(tree.member('service')),
    env: new Map(tree.member('env')?.parts.map(({ name, value }) => [name, value.text])),
  }
}

function textsOf(node: JsonValue | undefined): readonly string[] | undefined {
  return node?.parts.map(({ value }) => value.text)
}

function isTrue(tree: JsonValue, name: string): boolean {
  return tree.member(name)?.text === 'true'
}

function readStep(tree: JsonValue, line: number, reader: FrameReader): Step {
  const exit = tree.member('exit')
  if (exit !== undefined) return { kind: 'exit', line, code: Number(exit.text) }
  const content = sentContent(tree)
  if (content === undefined) throw new PatternError('a line needs a "frame", a "text" or a "junk64"')
  const { kind, bytes } = content
  const whole = isTrue(tree, 'whole')
  const isJson = kind === 'frame' || (whole && jsonTreeOf(bytes) !== undefined)
  const direction = tree.string('dir')
  if (direction === undefined)
    throw new PatternError('"dir" must be "in" (sent by the client) or "out" (expected by it)')
  if (direction === 'in') {
    const lineEnd = kind === 'junk' && !whole ? '' : (tree.string('eol') ?? '\n')
    return { kind: 'send', line, bytes, lineEnd, whole, fills: isJson ? reader.fills(bytes) : [] }
  }
  return {
    kind: 'expect',
    line,
    bytes,
    pattern: isJson ? reader.pattern(bytes) : undefined,
    mode: tree.string('expect') === 'json' ? 'json' : 'bytes',
    optional: isTrue(tree, 'optional'),
    unordered: isTrue(tree, 'unordered'),
  }
}

export function sentContent(
  tree: JsonValue,
): { readonly kind: 'frame' | 'text' | 'junk'; readonly bytes: Buffer } | undefined {
  const frame = tree.member('frame')
  if (frame !== undefined) return { kind: 'frame', bytes: frame.bytes }
  const text = tree.string('text')
  if (text !== undefined) return { kind: 'text', bytes: Buffer.from(text) }
  const junk = tree.string('junk64')
  return junk === undefined ? undefined : { kind: 'junk', bytes: Buffer.from(junk, 'base64') }
}
