// A transcript file, line by line: a header, then what is sent and what comes back.
//
// A file may hold several transcripts, each with its header, since a recording is
// appended to; a recording of several clients is one transcript for each of them.

import { readFile } from 'node:fs/promises'
import { FrameError } from '../jsonrpc/errors.js'
import { frameOrError } from '../jsonrpc/frame.js'
import { toLine } from '../jsonrpc/line.js'
import { errorText } from '../text/error-text.js'
import { ChosenValues } from './chosen.js'
import { type Carrier, type Header, readHeader } from './header.js'
import { type ObjectNode, child, readTree, textOf } from './json-tree.js'
import { type FrameReader, type Step, TranscriptError, isIgnored, readStep, wholeNumber } from './line.js'
import {
  type Fill,
  type Pattern,
  PatternError,
  exactPattern,
  readFills,
  readMessagePattern,
} from './pattern.js'

/** The messages of one client, and their answers. */
export interface Transcript {
  readonly file: string
  /** The file, and which transcript of it when there are several. */
  readonly name: string
  readonly header: Header
  readonly steps: readonly Step[]
  /** The transport that it needs; undefined when it replays over both. */
  readonly needs: Carrier | undefined
  /** Why it needs that, in words. */
  readonly why: string
  /** The schema whose client it was, in a recording over HTTP that has more than one. */
  readonly schema: string | undefined
}

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
  for (const [index, bytes] of linesOf(content)) {
    try {
      addLine(parts, bytes, index + 1)
    } catch (error) {
      if (!(error instanceof FrameError || error instanceof PatternError)) throw error
      throw new TranscriptError(file, index + 1, mistakeIn(error))
    }
  }
  const transcripts = parts.flatMap(transcriptsOf)
  if (transcripts.length === 0) throw new TranscriptError(file, undefined, 'there is nothing to replay in it')
  return transcripts.map((transcript, at) => ({
    ...transcript,
    file,
    name: transcripts.length === 1 ? file : `${file}#${at + 1}`,
  }))
}

function mistakeIn(error: FrameError | PatternError): string {
  return error instanceof FrameError ? `${error.message} at byte ${error.offset} of the line` : error.message
}

function* linesOf(content: Buffer): IterableIterator<[number, Buffer]> {
  let start = 0
  for (let index = 0; start < content.length; index++) {
    const found = content.indexOf(0x0a, start)
    const end = found === -1 ? content.length : found
    const line = content.subarray(start, end)
    if (line.some((byte) => byte > 0x20)) yield [index, line]
    start = end + 1
  }
}

/** One header, and the clients whose lines follow it. */
interface Part {
  readonly header: Header
  readonly clients: Map<number, Client>
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
  const client = part.clients.get(connection) ?? new Client(part.header.recorded)
  part.clients.set(connection, client)
  client.add(tree, bytes, line)
}

function transcriptsOf({ header, clients }: Part): Omit<Transcript, 'file' | 'name'>[] {
  return [...clients.values()].map(({ steps, schema }) => ({
    header,
    steps,
    schema,
    ...needOf(header, steps),
  }))
}

function needOf({ transport }: Header, steps: readonly Step[]): Pick<Transcript, 'needs' | 'why'> {
  if (transport !== undefined) return { needs: transport, why: 'its header says so' }
  const exit = steps.find(({ kind }) => kind === 'exit')
  if (exit !== undefined) return { needs: 'stdio', why: `line ${exit.line} expects the process to end` }
  const odd = steps.find((step) => step.kind === 'send' && !isMessage(step.bytes))
  if (odd === undefined) return { needs: undefined, why: '' }
  return { needs: 'stdio', why: `line ${odd.line} sends what is not one message` }
}

function isMessage(bytes: Buffer): boolean {
  return !(frameOrError(toLine(bytes)) instanceof FrameError)
}

/** One client of a transcript, and the names that its values have so far. */
class Client implements FrameReader {
  readonly steps: Step[] = []
  schema: string | undefined
  readonly #recorded: boolean
  readonly #names = new Set<string>()

  constructor(recorded: boolean) {
    this.#recorded = recorded
  }

  add(tree: ObjectNode, bytes: Buffer, line: number): void {
    this.steps.push(readStep(tree, bytes, line, this))
    this.schema ??= textOf(child(tree, 'schema'))
  }

  pattern(bytes: Buffer): Pattern {
    if (!this.#recorded) return readMessagePattern(bytes, this.#names)
    return new ChosenValues(bytes, this.#names).expected(exactPattern(bytes))
  }

  fills(bytes: Buffer): Fill[] {
    const tree = readTree(bytes)
    return this.#recorded ? new ChosenValues(bytes, this.#names).sent(tree) : readFills(tree, this.#names)
  }
}
