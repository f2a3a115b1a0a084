// A transcript file, line by line: a header, then the messages that are sent and those that are expected.
//
// A file may hold several transcripts, each with its header; a recording of several clients is one transcript for each of
// them. A key that is not known is a mistake: a misspelt `optional` would silently make a fixture say something else.

import { readFile } from 'node:fs/promises'
import { LF } from '../jsonrpc/ascii.js'
import { FrameError } from '../jsonrpc/jsonrpc-errors.js'
import { frameOrError } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { errorText } from '../text/error-text.js'
import { isLoopback } from '../text/loopback.js'
import type { Mode } from './compare.js'
import { type JsonNode, type ObjectNode, child, jsonTreeOf, readTree, textOf } from './json-tree.js'
import { type Fill, FrameReader, type Pattern, PatternError } from './pattern.js'

/** The messages of one client, and their answers. */
export interface Transcript {
  readonly file: string
  /** The file, and which transcript of it when there are several. */
  readonly name: string
  readonly header: Header
  readonly steps: readonly Step[]
  /** Undefined if the transcript replays over both transports. */
  readonly need: Need | undefined
  /** The schema whose client it was, in a recording over HTTP that has more than one. */
  readonly schema: string | undefined
}

/** The transport of the messages. */
export type Carrier = 'stdio' | 'http'

/** The transport that a transcript needs, and the reason in words. */
interface Need {
  readonly carrier: Carrier
  readonly why: string
}

export interface Header {
  /** Made by `--record`: values that the other end chooses anew are found by their places. */
  readonly recorded: boolean
  /** The transport that it needs; undefined when it replays over both. */
  readonly transport: Carrier | undefined
  /** The address of a server that is started for it. */
  readonly url: string | undefined
  /** The command of a server; undefined replays against the proxy. */
  readonly command: readonly string[] | undefined
  /** The arguments of the proxy. */
  readonly args: readonly string[] | undefined
  /** The proxy's configuration, as JSON. */
  readonly config: string | undefined
  /** A service on the network that the configuration needs: the command that starts it on `$servicePort`. */
  readonly service: readonly string[] | undefined
  /** Environment variables on top of our own. */
  readonly env: ReadonlyMap<string, string>
}

/** A transcript that cannot be replayed. */
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
  /** One message, with all line breaks in it. */
  readonly whole: boolean
  readonly fills: readonly Fill[]
}

export interface Expected {
  readonly kind: 'expect'
  readonly line: number
  readonly bytes: Buffer
  /** Undefined if the line is no JSON; such a line is compared as bytes. */
  readonly pattern: Pattern | undefined
  readonly mode: Mode
  /** Whether the message may be missing. */
  readonly optional: boolean
  /** Whether it may be anywhere among the messages of the server. */
  readonly unordered: boolean
}

export interface Exit {
  readonly kind: 'exit'
  readonly line: number
  readonly code: number
}

export type Step = Sent | Expected | Exit

/**
 * Reads a file of transcripts.
 *
 * @throws TranscriptError that names the line
 */
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
    [...clients.values()].map(({ steps, schema }) => ({
      header,
      steps,
      schema,
      need: needOf(header, steps),
    })),
  )
  if (clients.length === 0) throw new TranscriptError(file, undefined, 'there is nothing to replay in it')
  return clients.map((client, at) => ({
    ...client,
    file,
    name: clients.length === 1 ? file : `${file}#${at + 1}`,
  }))
}

/** The lines with their line ends. */
export function linesOf(content: Buffer): Buffer[] {
  const lines: Buffer[] = []
  for (let start = 0; start < content.length;) {
    const found = content.indexOf(LF, start)
    const end = found < 0 ? content.length : found + 1
    lines.push(content.subarray(start, end))
    start = end
  }
  return lines
}

/** One header, and the clients whose lines follow it. */
interface Part {
  readonly header: Header
  readonly clients: Map<number, Client>
}

/** One client of a transcript. */
interface Client {
  readonly steps: Step[]
  readonly reader: FrameReader
  schema: string | undefined
}

function addLine(parts: Part[], bytes: Buffer, line: number): void {
  const tree = readTree(bytes)
  if (child(tree, 'mcps') !== undefined) {
    parts.push({ header: readHeader(tree, bytes), clients: new Map() })
    return
  }
  const part = parts.at(-1)
  if (part === undefined) throw new PatternError('the first line must be a header: {"mcps":1}')
  if (tree.kind !== 'object') throw new PatternError('a line must be an object')
  if (isIgnored(tree)) return
  const connection = wholeNumber(tree, 'conn') ?? 1
  const { header, clients } = part
  const client = clients.get(connection) ?? {
    steps: [],
    reader: new FrameReader(header.recorded),
    schema: undefined,
  }
  clients.set(connection, client)
  client.steps.push(readStep(tree, bytes, line, client.reader))
  client.schema ??= textOf(child(tree, 'schema'))
}

function needOf({ transport }: Header, steps: readonly Step[]): Need | undefined {
  if (transport !== undefined) return { carrier: transport, why: 'its header says so' }
  const exit = steps.find(({ kind }) => kind === 'exit')
  if (exit !== undefined) return { carrier: 'stdio', why: `line ${exit.line} expects the process to end` }
  const odd = steps.find((step) => step.kind === 'send' && !isMessage(step.bytes))
  return odd && { carrier: 'stdio', why: `line ${odd.line} sends what is not one message` }
}

function isMessage(bytes: Buffer): boolean {
  return !(frameOrError(toLine(bytes)) instanceof FrameError)
}

const VERSION = '1'

const HEADER_KEYS =
  'mcps title recorded redacted cut transport url command args config service env revision at'.split(' ')

/** @throws PatternError when it is not written as it must be */
export function readHeader(tree: JsonNode, bytes: Buffer): Header {
  if (tree.kind !== 'object') throw new PatternError('a header must be an object')
  refuseUnknown(tree, HEADER_KEYS)
  const version = child(tree, 'mcps')
  if (version?.kind !== 'number' || version.text !== VERSION)
    throw new PatternError(`"mcps" must be ${VERSION}, the version of the format`)
  const config = child(tree, 'config')
  if (config !== undefined && config.kind !== 'object') throw new PatternError('"config" must be an object')
  return {
    recorded: flag(tree, 'recorded'),
    transport: wordOf(tree, 'transport', ['stdio', 'http']),
    url: urlOf(tree),
    // One text describes how a recording was made; a list is a server to start.
    command: child(tree, 'command')?.kind === 'string' ? undefined : texts(tree, 'command'),
    args: texts(tree, 'args'),
    config: config && bytes.toString('utf8', config.start, config.end),
    service: texts(tree, 'service'),
    env: environment(tree),
  }
}

/** With a port in place of `$port`. */
function urlOf(tree: ObjectNode): string | undefined {
  const node = child(tree, 'url')
  const url = textOf(node)
  if (node === undefined) return undefined
  const example = url?.replaceAll('$port', '1') ?? ''
  const isHere = /^https?:/.test(example) && URL.canParse(example) && isLoopback(new URL(example).hostname)
  if (isHere) return url
  throw new PatternError('"url" must be an address of this machine, like "http://127.0.0.1:$port/mcp"')
}

function texts(tree: ObjectNode, name: string): readonly string[] | undefined {
  const node = child(tree, name)
  if (node === undefined) return undefined
  const values = node.kind === 'array' ? node.items.map(textOf) : [undefined]
  return values.map((value) => {
    if (value === undefined) throw new PatternError(`"${name}" must be a list of strings`)
    return value
  })
}

function environment(tree: ObjectNode): ReadonlyMap<string, string> {
  const node = child(tree, 'env')
  const members = node?.kind === 'object' ? node.members : []
  return new Map(
    members.map(({ name, value }) => {
      const text = textOf(value)
      if (text === undefined) throw new PatternError(`"env.${name}" must be a string`)
      return [name, text]
    }),
  )
}

const LINE_KEYS =
  't hop service schema conn dir frame text junk64 whole eol expect optional unordered exit comment'.split(
    ' ',
  )

/** Whether a line is a comment, or passed between the proxy and its servers. */
function isIgnored(tree: ObjectNode): boolean {
  refuseUnknown(tree, LINE_KEYS)
  const hop = wordOf(tree, 'hop', ['client', 'upstream'])
  return hop === 'upstream' || tree.members.every(({ name }) => name === 'comment')
}

function readStep(tree: ObjectNode, text: Buffer, line: number, reader: FrameReader): Step {
  const code = wholeNumber(tree, 'exit')
  if (code !== undefined) return { kind: 'exit', line, code }
  const content = contentOf(tree, text)
  if (content === undefined) throw new PatternError('a line needs a "frame", a "text" or a "junk64"')
  const { kind, bytes } = content
  const whole = flag(tree, 'whole')
  const isJson = kind === 'frame' || (whole && jsonTreeOf(bytes) !== undefined)
  const direction = textOf(child(tree, 'dir'))
  if (direction === 'in') {
    const lineEnd = kind === 'junk' && !whole ? '' : (textOf(child(tree, 'eol')) ?? '\n')
    return { kind: 'send', line, bytes, lineEnd, whole, fills: isJson ? reader.fills(bytes) : [] }
  }
  if (direction !== 'out')
    throw new PatternError('"dir" must be "in" (sent by the client) or "out" (expected by it)')
  const pattern = isJson ? reader.pattern(bytes) : undefined
  const [optional, unordered] = [flag(tree, 'optional'), flag(tree, 'unordered')]
  return { kind: 'expect', line, bytes, pattern, mode: modeOf(tree), optional, unordered }
}

/** The content of a line: a frame, a text, or any bytes. */
export function contentOf(
  tree: ObjectNode,
  line: Buffer,
): { readonly kind: 'frame' | 'text' | 'junk'; readonly bytes: Buffer } | undefined {
  const frame = child(tree, 'frame')
  if (frame !== undefined) return { kind: 'frame', bytes: line.subarray(frame.start, frame.end) }
  const text = textOf(child(tree, 'text'))
  if (text !== undefined) return { kind: 'text', bytes: Buffer.from(text) }
  const junk = textOf(child(tree, 'junk64'))
  return junk === undefined ? undefined : { kind: 'junk', bytes: Buffer.from(junk, 'base64') }
}

// The members of a line by their types.

export function refuseUnknown({ members }: ObjectNode, known: readonly string[]): void {
  const stray = members.find(({ name }) => !known.includes(name))
  if (stray !== undefined)
    throw new PatternError(`"${stray.name}" is not known; there is ${known.join(', ')}`)
}

export function modeOf(tree: ObjectNode): Mode {
  return wordOf(tree, 'expect', ['bytes', 'json']) ?? 'bytes'
}

function wordOf<Word extends string>(
  tree: ObjectNode,
  name: string,
  words: readonly Word[],
): Word | undefined {
  const node = child(tree, name)
  const word = words.find((each) => each === textOf(node))
  if (node === undefined || word !== undefined) return word
  throw new PatternError(`"${name}" must be ${words.map((each) => `"${each}"`).join(' or ')}`)
}

function flag(tree: ObjectNode, name: string): boolean {
  const node = child(tree, name)
  if (node === undefined || node.kind === 'boolean') return node?.text === 'true'
  throw new PatternError(`"${name}" must be true or false`)
}

function wholeNumber(tree: ObjectNode, name: string): number | undefined {
  const node = child(tree, name)
  if (node === undefined) return undefined
  if (node.kind === 'number' && Number.isSafeInteger(Number(node.text))) return Number(node.text)
  throw new PatternError(`"${name}" must be a whole number`)
}
