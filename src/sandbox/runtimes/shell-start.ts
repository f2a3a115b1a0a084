// Starting programs through a shell inside, where nobody tells the number of a process and nobody ends one.
//
// The first line that the shell writes to stderr is its number, which the program keeps as it takes the place of the shell; or why
// there is no program. Whatever the program starts inherits the mark of its call.

import { constants } from 'node:os'
import { type Readable, Transform } from 'node:stream'
import type { GuestCommand, GuestExit } from '../runtime.js'

/** The variable by which processes of one call are found. */
export const commandMark = 'SANDBOX_CALL'

const START = `cd "$1" 2>/dev/null || { echo "$1: ENOENT" >&2; exit 127; }
shift
command -v "$1" >/dev/null 2>&1 || { echo "$1: ENOENT" >&2; exit 127; }
echo "$$" >&2
exec "$@"`

/** All of them are stopped before the first is killed, so that nobody starts others meanwhile, or ends well. */
const KILL = `marked() {
  for folder in /proc/[0-9]*; do
    tr '\\0' '\\n' 2>/dev/null < "$folder/environ" | grep -qx "${commandMark}=$1" && echo "\${folder#/proc/}"
  done
}
known=
for round in 1 2 3 4 5 6 7 8; do
  found=$(marked "$1" 2>/dev/null)
  [ "$found" = "$known" ] && break
  known=$found
  kill -STOP $known
done
kill -KILL $known`

/** The beginning of stderr that may be held until its first line is whole. */
const LINE_BYTES_MAX = 4096

/** What a shell adds to the number of the signal that has ended a program. */
const SIGNALLED = 128

const LF = 0x0a

/** The command that starts a program. */
export function startCommand({ program, args }: GuestCommand, cwd: string): string[] {
  return ['sh', '-c', START, 'sh', cwd, program, ...args]
}

/** The command that interrupts a process by its number. */
export function interruptCommand(pid: string): string[] {
  return ['sh', '-c', 'kill -INT "$1"', 'sh', pid]
}

/** The command that ends all processes of a call. */
export function killCommand(call: string): string[] {
  return ['sh', '-c', KILL, 'sh', call]
}

/** What a shell says before the program does. */
export class ShellStart {
  /** The stderr of the program. */
  readonly stderr: Readable
  /** Resolves with the number of the process; undefined when it was not started. */
  readonly pid: Promise<string | undefined>
  #said = ''
  #isTold = false
  #tell: (pid: string | undefined) => void = () => {}

  constructor(source: Readable) {
    this.pid = new Promise((resolve) => {
      this.#tell = resolve
    })
    const rest = new Transform({
      transform: (chunk: Buffer, _encoding, done) => done(null, this.#isTold ? chunk : this.#take(chunk)),
      flush: (done) => {
        this.#tell(undefined)
        done()
      },
    })
    source.on('error', () => rest.end())
    this.stderr = source.pipe(rest)
  }

  /** The end of the program, by that of the shell or of whoever has run it. */
  async exit({ code, signal, failure }: GuestExit): Promise<GuestExit> {
    const none = { code: undefined, signal: undefined }
    if (failure !== undefined) return { ...none, failure }
    const pid = await this.pid
    if (pid === undefined) return { ...none, failure: this.#said.trim() || 'it was not started' }
    const ended = Object.entries(constants.signals).find(([, number]) => SIGNALLED + number === code)
    return ended === undefined ? { code, signal } : { code: undefined, signal: ended[0] }
  }

  #take(chunk: Buffer): Buffer {
    const end = chunk.indexOf(LF)
    this.#said += chunk.toString('utf8', 0, end === -1 ? chunk.length : end)
    if (end === -1 && this.#said.length <= LINE_BYTES_MAX) return Buffer.alloc(0)
    if (!/^\d+$/.test(this.#said)) {
      this.#said += chunk.toString('utf8', Math.max(0, end)).slice(0, LINE_BYTES_MAX)
      return Buffer.alloc(0)
    }
    this.#isTold = true
    this.#tell(this.#said)
    return chunk.subarray(end + 1)
  }
}
