// Ends the servers when the proxy is killed with `kill -9`.
//
// The proxy cannot act then, and a server that does not end with its stdin would
// stay for ever. So a shell waits beside the proxy. It learns of every process
// group that comes and goes, and when the pipe to it ends, for any reason,
// it ends those that are left.
//
// The number of a group is known only after its process was forked, and the proxy may die
// between. So the shell learns of each start before it: of a variable that this process alone gets,
// by which the shell finds it.
//
// A group is forgotten only when it is empty: until then the system cannot give
// its number to another group.

import type { GuardianShell } from './guardian-shell.js'
import type { LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import { errorText } from '../../text/error-text.js'

/** Waits after which an empty group is looked for again; a process that resists `kill -9` for longer cannot be ended. */
const LOOK_AGAIN_MS = [5, 20, 75, 250, 750, 2000, 5000, 10_000, 30_000]

/** Waits before a shell that has ended is started again, by the number of ends in a row. */
const START_AGAIN_MS = [0, 0, 100, 1000, 10_000, 30_000]

/** The end of a shell that has lived this long begins that count anew. */
const WELL_MS = 60_000

/** A shell with more unread bytes than this does not read. */
const BACKLOG_BYTES_MAX = 64 * 1024

/** A shell that has no group left ends immediately. */
const END_WAIT_MS = 1000

/** The variable by which the shell finds a process whose group it was not told. */
const START_VARIABLE = 'MCPS_PROXY_START'

/** Outlives the proxy, and ends the process groups that it leaves behind. */
export class Guardian {
  readonly #runtime: Pick<Runtime, 'now' | 'setTimer' | 'random'>
  readonly #log: LogSink
  readonly #startShell: () => GuardianShell
  readonly #isEmpty: (group: number) => boolean
  readonly #groups = new Set<number>()
  readonly #timers = new Set<Timer>()
  #shell: GuardianShell | undefined
  #state: 'idle' | 'starting' | 'there' | 'absent' | 'closed' = 'idle'
  #startedAt = 0
  #deaths = 0

  /** `startShell` may throw. */
  constructor(
    runtime: Pick<Runtime, 'now' | 'setTimer' | 'random'>,
    log: LogSink,
    startShell: () => GuardianShell,
    isEmpty: (group: number) => boolean,
  ) {
    this.#runtime = runtime
    this.#log = log
    this.#startShell = startShell
    this.#isEmpty = isEmpty
  }

  /** Of the shell; undefined while there is none. */
  get pid(): number | undefined {
    return this.#shell?.pid
  }

  /** A process is about to be forked in this turn; the result belongs into its environment. */
  announce(): Readonly<Record<string, string>> {
    const value = this.#runtime.random().toString(36).slice(2)
    if (this.#state === 'idle') {
      this.#state = 'starting'
      this.#start()
    }
    this.#tell(`? ${START_VARIABLE}=${value}`)
    return { [START_VARIABLE]: value }
  }

  /** The process that was announced leads this group. */
  add(group: number): void {
    if (this.#state === 'absent' || this.#state === 'closed') return
    this.#groups.add(group)
    this.#tell(`+ ${group}`)
  }

  /** The process that was announced could not be started. */
  withdraw(): void {
    this.#tell('?')
  }

  /** The leader of a group has ended; the group is forgotten when it is empty. */
  remove(group: number): void {
    this.#forget(group, 0)
  }

  /** A group is to outlive the proxy. */
  release(group: number): void {
    if (this.#groups.delete(group)) this.#tell(`- ${group}`)
  }

  /** Ends the shell, which ends the groups that are left; resolves when it is gone, or after a second. */
  async close(): Promise<void> {
    const shell = this.#shell
    this.#state = 'closed'
    this.#shell = undefined
    for (const timer of this.#timers) timer.cancel()
    for (const group of this.#groups) if (this.#isEmpty(group)) shell?.write(`- ${group}\n`)
    shell?.end()
    if (shell === undefined) return
    const late = new Promise<void>((resolve) => this.#later(END_WAIT_MS, resolve))
    await Promise.race([shell.ended, late])
    for (const timer of this.#timers) timer.cancel()
  }

  #forget(group: number, tries: number): void {
    if (this.#state === 'absent' || !this.#groups.has(group)) return
    const waitMs = LOOK_AGAIN_MS[tries]
    if (waitMs !== undefined && !this.#isEmpty(group)) {
      this.#later(waitMs, () => this.#forget(group, tries + 1))
      return
    }
    this.#groups.delete(group)
    this.#tell(`- ${group}`)
  }

  #tell(what: string): void {
    const shell = this.#shell
    if (shell === undefined) return
    shell.write(`${what}\n`)
    // The shell does not read; its successor gets the whole list.
    if (shell.backlogBytes > BACKLOG_BYTES_MAX) shell.kill()
  }

  #start(): void {
    if (this.#state !== 'starting') return
    this.#state = 'there'
    this.#startedAt = this.#runtime.now()
    const shell = this.#started()
    if (shell === undefined) return
    this.#shell = shell
    shell.write([...this.#groups].map((group) => `+ ${group}\n`).join(''))
    void shell.ended.then((error) => this.#ended(shell, error))
  }

  #started(): GuardianShell | undefined {
    try {
      return this.#startShell()
    } catch (error) {
      this.#startAgain(errorText(error))
      return undefined
    }
  }

  #ended(shell: GuardianShell, error: string | undefined): void {
    if (this.#shell !== shell) return
    this.#shell = undefined
    if (error === 'ENOENT' || error === 'EACCES') this.#absent(error)
    else this.#startAgain(error ?? 'it has ended')
  }

  #absent(error: string): void {
    this.#state = 'absent'
    this.#groups.clear()
    const message = `there is no /bin/sh (${error}): servers that ignore the end of their stdin will outlive a proxy that is killed`
    this.#log({ level: 'debug', message })
  }

  #startAgain(why: string): void {
    this.#deaths = this.#runtime.now() - this.#startedAt >= WELL_MS ? 0 : this.#deaths + 1
    this.#state = 'starting'
    const waitMs = START_AGAIN_MS[Math.min(this.#deaths, START_AGAIN_MS.length) - 1] ?? 0
    const message = `the guardian of the servers is started again: ${why}`
    this.#log({ level: this.#deaths < 3 ? 'debug' : 'warn', message })
    this.#later(waitMs, () => this.#start())
  }

  #later(waitMs: number, run: () => void): void {
    const timer = this.#runtime.setTimer(waitMs, () => {
      this.#timers.delete(timer)
      run()
    })
    this.#timers.add(timer)
  }
}
