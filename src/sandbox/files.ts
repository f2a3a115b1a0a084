// The files of a session. Programs inside access them, because the host must not open a path of a session.

import { Buffer, isUtf8 } from 'node:buffer'
import { fileFailed } from './errors.js'
import { type MachineUse, type SmallRun, runToEnd } from './runs.js'

/** The most bytes of a file that a client gets as a whole. */
export const fileBytesMax: number = 10 * 1024 * 1024

const ENTRIES_MAX = 1000
const LISTING_BYTES_MAX = 1024 * 1024
const SIZE_LENGTH_MAX = 32

export interface FilePart {
  readonly bytes: Buffer
  /** The encoding of the bytes in a result. Text with a NUL is base64, because JSON writes a NUL with six bytes. */
  readonly encoding: 'utf8' | 'base64'
  readonly size: number
}

export interface FileEntry {
  readonly name: string
  readonly type: 'file' | 'folder' | 'link' | 'other'
  readonly size: number
  /** An invalid date after the year 275760. JSON writes that as null. */
  readonly modified: Date
}

/** A read of a FIFO or a device would never end. */
const isPlain =
  '[ -e "$1" ] || { echo "there is no such file" >&2; exit 1; }; [ -f "$1" ] || { echo "it is no regular file" >&2; exit 1; }'

/** Prints the size in bytes on a line, then the bytes. The shell opens the file: `tail -` would read stdin. */
const READ = `${isPlain}; wc -c < "$1" && tail -c "+$2" < "$1" | head -c "$3"`

const WRITE =
  'case "$1" in */*) mkdir -p -- "${1%/*}/" || exit 1;; esac; [ ! -e "$1" ] || [ -f "$1" ] || { echo "it is no regular file" >&2; exit 1; }; cat > "$1"'

/**
 * Prints a line for each entry, with the time of its last change, which no program can set. Because of the
 * prefix `./`, `cd` does not read a name as an option. The `find` and `stat` of small images have these options.
 */
const LIST = `case "$1" in /*) ;; *) set -- "./$1";; esac; [ -d "$1" ] || { echo "there is no such folder" >&2; exit 1; }
cd "$1" && exec find . -mindepth 1 -maxdepth 1 -exec stat -c '%f/%s/%Y/%z/%n' -- {} +`

export async function readFile(
  where: MachineUse,
  path: string,
  offset: number,
  limit: number,
): Promise<FilePart> {
  const run = await shell(where, READ, [path, String(offset + 1), String(limit)], limit + SIZE_LENGTH_MAX)
  const output = contentOf(run, path)
  const end = output.indexOf('\n')
  const bytes = output.subarray(end + 1)
  const encoding = isUtf8(bytes) && !bytes.includes(0) ? 'utf8' : 'base64'
  return { size: Number(output.toString('latin1', 0, end).trim()), bytes, encoding }
}

/** Creates missing parent folders. @throws SandboxError */
export async function writeFile(where: MachineUse, path: string, content: Uint8Array): Promise<void> {
  contentOf(await shell(where, WRITE, [path], 0, content), path)
}

export async function listFiles(
  where: MachineUse,
  path: string,
): Promise<{ readonly entries: readonly FileEntry[]; readonly isCut: boolean }> {
  const run = await shell(where, LIST, [path], LISTING_BYTES_MAX)
  if (run.failure !== undefined) throw fileFailed(`${path}: ${run.failure}`, { path })
  const entries = run.bytes.toString('utf8').split('\n').flatMap(entryOf)
  return {
    entries: entries.sort((one, other) => (one.name < other.name ? -1 : 1)).slice(0, ENTRIES_MAX),
    isCut: run.isCut || entries.length > ENTRIES_MAX,
  }
}

function shell(
  where: MachineUse,
  script: string,
  args: readonly string[],
  bytesMax: number,
  input?: Uint8Array,
): Promise<SmallRun> {
  return runToEnd(where, ['sh', '-c', script, 'sh', ...args], bytesMax, input)
}

function contentOf(run: SmallRun, path: string): Buffer {
  const failure = run.failure ?? (run.isCut ? 'it is too long' : undefined)
  if (failure !== undefined) throw fileFailed(`${path}: ${failure}`, { path })
  return run.bytes
}

/** Keys are the first digit of the mode in hexadecimal. */
const entryTypes: Readonly<Record<string, FileEntry['type']>> = { 8: 'file', 4: 'folder', a: 'link' }

/** Returns no entry for a part of a line: a name with a line feed, or the end of a cut listing. */
function entryOf(line: string): FileEntry[] {
  const [, type = '', size, seconds, name] =
    /^(.)[\da-f]{3}\/(\d+)\/(-?\d+)\/[^/]+\/\.\/([^/]+)$/.exec(line) ?? []
  if (name === undefined) return []
  const modified = new Date(Number(seconds) * 1000)
  return [{ name, type: entryTypes[type] ?? 'other', size: Number(size), modified }]
}

// The addresses and types of files as resources.

/** `path` is relative to the folder of the session, or absolute. */
export function resourceUri(sessionId: string, path: string): string {
  return `sandbox://${sessionId}/${path.split('/').map(encodeURIComponent).join('/')}`
}

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

const artifactFolder = 'artifacts'

export interface Artifact {
  /** The path from the folder of the session. */
  readonly path: string
  readonly bytes: number
}

const ARTIFACTS_MAX = 20

export class Artifacts {
  #lines: ReadonlySet<string> = new Set()

  async newArtifacts({ machine, clock }: MachineUse): Promise<Artifact[]> {
    const { bytes, failure } = await shell({ machine, clock }, LIST, [artifactFolder], LISTING_BYTES_MAX)
    // The folder may be missing, or a file may vanish during the listing. The next listing then finds the same files.
    if (failure !== undefined) return []
    const before = this.#lines
    this.#lines = new Set(bytes.toString('utf8').split('\n'))
    return (
      [...this.#lines]
        .filter((line) => !before.has(line))
        .flatMap(entryOf)
        // A client could not request a name that is not UTF-8.
        .filter(({ type, name }) => type === 'file' && !name.includes('\u{fffd}'))
        .map(({ name, size }) => ({ path: `${artifactFolder}/${name}`, bytes: size }))
        .sort((one, other) => (one.path < other.path ? -1 : 1))
        .slice(0, ARTIFACTS_MAX)
    )
  }
}
