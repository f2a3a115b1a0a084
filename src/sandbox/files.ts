// The files of a session. Programs inside read and write them, since the host opens no path of a session.

import { Buffer, isUtf8 } from 'node:buffer'
import { StringDecoder } from 'node:string_decoder'
import { setImmediate } from 'node:timers/promises'
import { quote, write } from '../jsonrpc/text.js'
import { fileFailed, resourceLimit } from './errors.js'
import { type MachineUse, type SmallRun, type Turns, readAll } from './runs.js'

/** The most bytes of a whole file that a client gets. */
export const fileBytesMax: number = 10 * 1024 * 1024

/** `PATH_MAX` of Linux. */
const PATH_LENGTH_MAX = 4096

const ENTRIES_MAX = 1000
const LISTING_BYTES_MAX = 1024 * 1024
/** The most characters of the size line before the content. */
const SIZE_LENGTH_MAX = 32

/** A read above this many bytes is large: a result holds the file several times, as bytes and as JSON. */
const LARGE_BYTES = 256 * 1024

/**
 * Runs a read when its turn comes. The service runs a few large reads at a time over all sessions, and starts none before its
 * client has taken the earlier results. @throws SandboxError
 */
export async function inLargeTurn<T>(
  { largeReads, signal, whenWritable }: LargeReadTerms,
  bytesMax: number,
  read: () => Promise<T>,
): Promise<T> {
  const done =
    bytesMax <= LARGE_BYTES ? read() : largeReads.run(signal, () => whenWritable().then(() => read()))
  if (done === undefined)
    throw resourceLimit('too many large files are being read', {}, 'Read smaller parts with offset and limit')
  return done
}

/** The facts for a read on behalf of a client. */
export interface LargeReadTerms {
  readonly largeReads: Turns
  readonly signal: AbortSignal
  /** Resolves when the connection to the client takes bytes, or is closed. */
  readonly whenWritable: () => Promise<void>
}

/** Whether a file is shown as text; a NUL would become six bytes of JSON. */
function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}

export interface FilePart {
  readonly bytes: Buffer
  /** The size of the whole file. */
  readonly size: number
}

export interface FileEntry {
  readonly name: string
  readonly type: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  readonly modifiedMs: number
}

/** The entries of a folder, sorted by name. */
export interface FileListing {
  readonly entries: readonly FileEntry[]
  /** Whether the folder has more entries. */
  readonly isCut: boolean
}

/** A read of a FIFO or a device would never end. */
const isPlain =
  '[ -e "$1" ] || { echo "there is no such file" >&2; exit 1; }; [ -f "$1" ] || { echo "it is no regular file" >&2; exit 1; }'

/** Prints the size in bytes on a line, then the bytes. The shell opens the file: `tail -` would read stdin. */
const READ = `${isPlain}; wc -c < "$1" && tail -c "+$2" < "$1" | head -c "$3"`

const WRITE =
  'case "$1" in */*) mkdir -p -- "${1%/*}/" || exit 1;; esac; [ ! -e "$1" ] || [ -f "$1" ] || { echo "it is no regular file" >&2; exit 1; }; cat > "$1"'

/** Whether `find` has the options of GNU, which that of small images lacks. */
const HAS_PRINTF = "find / -maxdepth 0 -printf '' 2>/dev/null"

/** Prints what `-printf` of GNU prints; the `find` of small images has no such option. */
const EACH =
  'for f; do t=o; [ ! -f "$f" ] || t=f; [ ! -d "$f" ] || t=d; [ ! -L "$f" ] || t=l; printf "%s/%s\\0" "$t" "$(stat -c %s/%Y -- "$f")/${f##*/}"; done'

/** The prefix `./` keeps `find` from reading a name as an option. */
const LIST = `case "$1" in /*) ;; *) set -- "./$1";; esac; [ -d "$1" ] || { echo "there is no such folder" >&2; exit 1; }
if ${HAS_PRINTF}; then exec find -H "$1" -mindepth 1 -maxdepth 1 -printf '%y/%s/%T@/%f\\0'; fi
exec find -H "$1" -mindepth 1 -maxdepth 1 -exec sh -c '${EACH}' sh {} +`

/** @throws SandboxError */
export async function readFile(
  where: MachineUse,
  path: string,
  offset: number,
  limit: number,
): Promise<FilePart> {
  const run = await shell(where, READ, [path, String(offset + 1), String(limit)], limit + SIZE_LENGTH_MAX)
  const bytes = contentOf(run, path)
  const end = bytes.indexOf('\n')
  return { size: Number(bytes.toString('latin1', 0, end).trim()), bytes: bytes.subarray(end + 1) }
}

/** Creates missing parent folders. @throws SandboxError */
export async function writeFile(where: MachineUse, path: string, content: Uint8Array): Promise<void> {
  contentOf(await shell(where, WRITE, [path], 0, content), path)
}

/** @throws SandboxError */
export async function listFiles(where: MachineUse, path: string): Promise<FileListing> {
  const run = await shell(where, LIST, [path], LISTING_BYTES_MAX)
  const isTooLong = run.kind === 'too-long'
  const texts = (isTooLong ? run.beginning : contentOf(run, path)).toString('utf8').split('\0')
  // The text after the last NUL is empty, or a part of an entry.
  const entries = texts.slice(0, -1).flatMap(entryOf)
  return {
    entries: entries.sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, ENTRIES_MAX),
    isCut: isTooLong || entries.length > ENTRIES_MAX,
  }
}

async function shell(
  where: MachineUse,
  script: string,
  args: readonly [path: string, ...more: string[]],
  bytesMax: number,
  input?: Uint8Array,
): Promise<SmallRun> {
  const [{ length }] = args
  if (length > PATH_LENGTH_MAX)
    throw fileFailed(`the path has ${length} characters, and may have ${PATH_LENGTH_MAX}`, { length })
  return readAll(where, ['sh', '-c', script, 'sh', ...args], bytesMax, input)
}

function contentOf(run: SmallRun, path: string): Buffer {
  switch (run.kind) {
    case 'read':
      return run.bytes
    case 'too-long':
      throw fileFailed(`${path}: it is too long`, { path })
    case 'late':
      throw fileFailed(`${path}: it took too long`, { path })
    case 'failed':
      throw fileFailed(`${path}: ${run.why === '' ? `code ${run.code}` : run.why}`, { path })
  }
}

/** The last time that a `Date` can hold; files may have later ones. */
const DATE_MS_MAX = 8_640_000_000_000_000

/** A regular expression for the times that `find` prints with `%T@`. */
const FILE_TIME = '-?\\d+(?:\\.\\d*)?'

const entryTypes: Readonly<Record<string, FileEntry['type']>> = { f: 'file', d: 'folder', l: 'link' }

const ENTRY = new RegExp(`^(.)/(\\d+)/(${FILE_TIME})/([^]+)$`)

function entryOf(text: string): FileEntry[] {
  const [, letter = '', size, time, name] = ENTRY.exec(text) ?? []
  if (name === undefined || time === undefined) return []
  const type = entryTypes[letter] ?? 'other'
  return [{ name, type, size: Number(size), modifiedMs: fileTimeMs(time) }]
}

/** Whole milliseconds since 1970. The fraction is always added: `-2.25` is 1.75 seconds before 1970. */
export function fileTimeMs(text: string): number {
  const [seconds = '', fraction = ''] = text.split('.')
  const timeMs = Number(seconds) * 1000 + Number(fraction.slice(0, 3).padEnd(3, '0'))
  return Math.min(Math.max(timeMs, -DATE_MS_MAX), DATE_MS_MAX)
}

// The addresses and types of files as resources.

/** `path` is relative to the folder of the session, or absolute. */
export function resourceUri(sessionId: string, path: string): string {
  return `sandbox://${sessionId}/${path.split('/').map(encodeURIComponent).join('/')}`
}

/** MIME types by file extension. */
const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}

export function mimeTypeOf(path: string): string {
  const [, ending = ''] = /\.([A-Za-z0-9]+)$/.exec(path) ?? []
  const key = ending.toLowerCase()
  return Object.hasOwn(types, key) ? (types[key] ?? '') : 'application/octet-stream'
}

// Files that the code of a session leaves for its client.

/** The folder for artifacts, relative to that of the session. */
const artifactFolder = 'artifacts'

/** A file that is new or has changed. */
export interface Artifact {
  /** The path from the folder of the session. */
  readonly path: string
  readonly bytes: number
}

/** The most artifacts of one call. */
const ARTIFACTS_MAX = 20

/** Prints name, bytes and seconds of each file; starts no further program when the folder is absent. */
const SCRIPT = `cd ${artifactFolder} 2>/dev/null || exit 0
if ${HAS_PRINTF}; then exec find . -maxdepth 1 -type f -printf '%f/%s/%C@\\n'; fi
exec find . -maxdepth 1 -type f -exec stat -c '%n/%s/%Z' {} +`

interface Listed extends Artifact {
  readonly name: string
  /** When the content, name or rights of the file changed last; no program can set this time. */
  readonly changedUs: number
}

/** Finds the files that have changed since the last look. */
export class Artifacts {
  #newestUs = -Infinity
  /** Files that changed at that time: the clock of the kernel may stand still for some milliseconds. */
  #atNewest: ReadonlySet<string> = new Set()

  async look({ machine, clock }: MachineUse): Promise<Artifact[]> {
    const listed = await readAll({ machine, clock }, ['sh', '-c', SCRIPT], LISTING_BYTES_MAX)
    const bytes =
      listed.kind === 'read' ? listed.bytes : listed.kind === 'too-long' ? listed.beginning : undefined
    const found = (bytes?.toString('utf8') ?? '').split('\n').flatMap(listedOf)
    const changed = found.filter((each) => this.#isNew(each))
    for (const { changedUs } of changed) this.#newestUs = Math.max(this.#newestUs, changedUs)
    this.#atNewest = new Set(found.filter((each) => each.changedUs === this.#newestUs).map(keyOf))
    return changed
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .slice(0, ARTIFACTS_MAX)
      .map(({ path, bytes }) => ({ path, bytes }))
  }

  #isNew(each: Listed): boolean {
    return each.changedUs === this.#newestUs
      ? !this.#atNewest.has(keyOf(each))
      : each.changedUs > this.#newestUs
  }
}

function keyOf({ name, bytes }: Listed): string {
  return `${name}/${bytes}`
}

function listedOf(line: string): Listed[] {
  const [, name, bytes, seconds, fraction = ''] =
    /^(?:\.\/)?([^/]+)\/(\d+)\/(\d+)(?:\.(\d*))?$/.exec(line) ?? []
  // A client could not ask for a name that is not UTF-8.
  if (name === undefined || name.includes('\u{fffd}') || seconds === undefined) return []
  const changedUs = Number(seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
  return [{ name, path: `${artifactFolder}/${name}`, bytes: Number(bytes), changedUs }]
}

// The content of a file in a result.
//
// To write ten MiB as JSON takes a tenth of a second. The service writes one piece in each turn of its event loop, so that other
// calls go on, and writes the text once for all places in the result.

const PIECE_BYTES = 64 * 1024

/** Stands for the text in a value. No string can contain its JSON, in which a quote is not escaped. */
const placeholder = { 'text of the file': 0 } as const
const PLACEHOLDER: string = write(placeholder)

const QUOTE = Buffer.from('"')

export class FileText {
  readonly encoding: 'utf8' | 'base64'
  readonly #bytes: Buffer

  /** The content is shown as text where that is possible, and else in base64. */
  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.encoding = isText(bytes) ? 'utf8' : 'base64'
  }

  toJSON(): typeof placeholder {
    return placeholder
  }

  /** The JSON text of `value`, which contains this text any number of times, in parts. */
  async writeIn(value: unknown): Promise<readonly Uint8Array[]> {
    const text = await this.#written()
    const [first = '', ...others] = write(value).split(PLACEHOLDER)
    return [Buffer.from(first), ...others.flatMap((between) => [...text, Buffer.from(between)])]
  }

  /** The JSON text of the content. */
  async #written(): Promise<readonly Uint8Array[]> {
    const decoder = new StringDecoder(this.encoding)
    const parts: Uint8Array[] = [QUOTE]
    for (let at = 0; at < this.#bytes.length; at += PIECE_BYTES) {
      if (at > 0) await setImmediate()
      parts.push(inside(decoder.write(this.#bytes.subarray(at, at + PIECE_BYTES))))
    }
    return [...parts, inside(decoder.end()), QUOTE]
  }
}

/** The JSON text of a string without its quotes. */
function inside(text: string): Buffer {
  return Buffer.from(quote(text).slice(1, -1))
}
