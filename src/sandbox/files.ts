// The files of a session. Programs inside read and write them, since the host opens no path of a session.

import { type Buffer, isUtf8 } from 'node:buffer'
import { fileFailed, resourceLimit } from './errors.js'
import { HAS_PRINTF } from './artifacts.js'
import { type MachineUse, type SmallRun, readAll } from './small-run.js'
import type { Turns } from './turns.js'

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
export function isText(bytes: Buffer): boolean {
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
