// One child process that speaks MCP on its stdin and stdout.

import { existsSync } from 'node:fs'
import type { Readable } from 'node:stream'
import type { Redactor } from '../../text/redactor.js'
import { NdjsonConnection, type NdjsonOptions } from '../../transports/stdio/ndjson.js'
import type { DialEnd, Dialed } from '../contracts/dial.js'
import { LastWords, type StderrLimits, StderrLog } from './stderr-log.js'
import { spawnSpec } from './spawn.js'
import type { Child, ChildExit, LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import type { StdioServerConfig } from '../contracts/server-config.js'
import { within } from '../../runtime/deadline.js'

/** How long each rung of the stop ladder waits (MCP, Lifecycle: shutdown over stdio). */
export interface StopLadder {
  /** After closing stdin. */
  readonly stdinWaitMs: number
  /** After SIGKILL to the process group. */
  readonly killWaitMs: number
  /** After an exit, for what the child wrote before. */
  readonly outputWaitMs: number
}

export interface ProcessLimits {
  readonly ladder: StopLadder
  readonly ndjson: NdjsonOptions
  readonly stderr: StderrLimits
  /** How often the memory of a server with a limit is looked at. */
  readonly memoryWatchMs: number
}

/** `server/discover` and `initialize`. */
const HANDSHAKE_MESSAGES = 2

/** Of the line on stderr that says why a program failed. */
const WHY_LENGTH_MAX = 300

/** To read who descends from whom takes milliseconds, on a machine that is not stuck. */
const SURVEY_MS_MAX = 500

/** A started child, or one that could not be started and has ended. */
export class ServerProcess implements Dialed {
  readonly connection: NdjsonConnection
  readonly ended: Promise<DialEnd>
  readonly #service: string
  /** After SIGTERM to the process group. */
  readonly #stopTimeoutMs: number
  readonly #child: Child
  readonly #ladder: StopLadder
  readonly #runtime: Runtime
  readonly #log: LogSink
  readonly #watch: MemoryWatch | undefined
  readonly #words = new LastWords()
  /** Why the proxy has killed it. */
  #killReason: DialEnd | undefined
  #gone = false
  #stopping: Promise<void> | undefined

  /** `redactor` is for the words of the server on stderr; `adopted` is a process that runs already. */
  constructor(
    config: StdioServerConfig,
    limits: ProcessLimits,
    runtime: Runtime,
    log: LogSink,
    redactor: Redactor,
    adopted?: Child,
  ) {
    this.#service = config.name
    this.#stopTimeoutMs = config.stopTimeoutMs
    this.#ladder = limits.ladder
    this.#runtime = runtime
    this.#log = log
    this.#child = adopted ?? runtime.spawn(spawnSpec(config, runtime.env))
    const { stdin, stdout, stderr } = this.#child
    new StderrLog(config.name, limits.stderr, runtime, log, redactor, this.#words).drain(stderr)
    this.connection = new NdjsonConnection(stdout, stdin, limits.ndjson, runtime)
    this.#watch = this.#watched(config, limits.memoryWatchMs)
    this.ended = this.#child.exited.then((exit) => this.#exited(config, exit))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  get memoryBytes(): number | undefined {
    return this.#watch?.usedBytes
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#descend()
    return this.#stopping
  }

  async #descend(): Promise<void> {
    const { stdinWaitMs, killWaitMs } = this.#ladder
    // A browser that a server starts in another process group is found only while the server runs.
    const surveyed = this.#surveyed()
    this.connection.endOutput(surveyed)
    await surveyed
    if (await this.#goneWithin(stdinWaitMs)) return
    await this.#surveyed()
    this.#child.signal('SIGTERM')
    if (await this.#goneWithin(this.#stopTimeoutMs)) return
    this.#child.signal('SIGKILL')
    if (await this.#goneWithin(killWaitMs)) return
    const message = `process ${this.pid} does not end, not even by SIGKILL: the system holds it`
    this.#log({ level: 'error', service: this.#service, message })
  }

  /** Finds processes that have left the group; undefined where the system does not show them. */
  #surveyed(): Promise<unknown> | undefined {
    if (this.#gone || this.#child.survey === undefined) return undefined
    return within(surveyed(this.#child), SURVEY_MS_MAX, this.#runtime)
  }

  async #goneWithin(waitMs: number): Promise<boolean> {
    if (!this.#gone) await within(this.ended, waitMs, this.#runtime)
    return this.#gone
  }

  /**
   * The last answer and the last words on stderr are read first.
   *
   * A grandchild may hold the streams open for ever, so this gets a short time only.
   */
  async #exited(config: StdioServerConfig, exit: ChildExit): Promise<DialEnd> {
    this.#watch?.stop()
    const { stdout, stderr } = this.#child
    const allRead = Promise.all([closed(stdout), closed(stderr)])
    await within(allRead, this.#ladder.outputWaitMs, this.#runtime)
    this.#gone = true
    stdout.destroy()
    stderr.destroy()
    return this.#killReason ?? describeExit(config, exit, this.#why(exit))
  }

  /** In the words of the program. Lines before its handshake are taken to be about its failure. */
  #why({ code }: ChildExit): string {
    const isStarted = this.connection.traffic.given > HANDSHAKE_MESSAGES
    const { damagedFolder: folder, error, lines } = this.#words
    const last = isStarted || code === 0 ? [] : lines.slice(-1)
    const said = error.length > 0 ? error : last
    if (said.length === 0 || code === undefined) return ''
    const remedy =
      folder === undefined ? '' : `; remove ${folder}, which npm has not installed as a whole, and try again`
    return `: ${said.join(' ').trim().slice(0, WHY_LENGTH_MAX)}${remedy}`
  }

  #watched({ name, memoryLimitBytes }: StdioServerConfig, everyMs: number): MemoryWatch | undefined {
    if (memoryLimitBytes === undefined || this.pid === undefined) return undefined
    const limit = { service: name, group: this.pid, limitBytes: memoryLimitBytes, everyMs }
    return new MemoryWatch(limit, this.#runtime, this.#log, (what) => {
      this.#killReason = { reason: 'memory-limit', message: `'${name}' ${what}` }
      const survey = within(surveyed(this.#child), SURVEY_MS_MAX, this.#runtime)
      void survey.then(() => this.#child.signal('SIGKILL'))
    })
  }
}

/** Never rejects. */
async function surveyed(child: Child): Promise<void> {
  try {
    await child.survey?.()
  } catch {
    // No such process is known then, and signals go to the group alone.
  }
}

/** Resolves when everything was read of a stream, or it has failed. */
async function closed(stream: Readable): Promise<void> {
  if (stream.closed || stream.destroyed) return
  await new Promise<void>((resolve) => {
    stream.once('close', resolve)
  })
}

/** A name with arguments behind it; a path may have spaces in it. */
const commandLine = /^[^\s/\\]+\s+\S/
const splitRemedy = 'write its first word alone as "command", and the others as "args"'
const programRemedy = 'install it, check PATH, or write its whole path as "command"'

/** The remedy for an error of a start, by its code. */
const remedies: Readonly<Record<string, (cwd: string, command: string) => string>> = {
  ENOENT: (cwd, command) =>
    existsSync(cwd)
      ? `no such program; ${commandLine.test(command) ? splitRemedy : programRemedy}`
      : `the working folder ${cwd} does not exist; make it, or change "cwd"`,
  // The system says so too of a name that is nowhere, where one folder of PATH is closed.
  EACCES: (cwd, command) =>
    `is it a program that may be executed, and may ${cwd}${/[/\\]/.test(command) ? '' : ' and every folder of PATH'} be entered?`,
  ENOTDIR: (cwd) => `is ${cwd} a folder?`,
  ENOEXEC: () => 'is it a program for this machine, or a script with #! in its first line?',
  E2BIG: () => 'its arguments and variables are longer than the system takes',
  EMFILE: () => 'this process has no file descriptors left (ulimit -n)',
  ENFILE: () => 'the system has no file descriptors left',
  EAGAIN: () => 'the system allows no further process (ulimit -u)',
  ENOMEM: () => 'the system has no memory left for it',
  ERR_INVALID_ARG_VALUE: () => 'the command is empty, or it, an argument, a variable or cwd has a NUL in it',
}

function describeExit(config: StdioServerConfig, exit: ChildExit, why: string): DialEnd {
  const { name, command, cwd } = config
  if (exit.spawnError !== undefined) {
    const remedy = remedies[exit.spawnError]?.(cwd, command)
    const why = remedy === undefined ? exit.spawnError : `${exit.spawnError}; ${remedy}`
    return { reason: 'spawn-failed', message: `'${name}' cannot be started: ${command}: ${why}` }
  }
  const how = exit.signal === undefined ? `with code ${exit.code}` : `by ${exit.signal}`
  return { reason: 'exited', message: `'${name}' exited ${how}${why}` }
}

// The memory of one server, with everything that it has started.
//
// A server that leaks takes the machine down with it, and all others. So it is
// looked at from time to time, and ended before that.

/** Shares of the limit: memory above the first is logged as a warning, once until it has fallen below the second. */
const WARN_SHARE = 0.8
const CALM_SHARE = 0.7

const MiB = 1024 * 1024

/** The memory limit of one process group. */
export interface MemoryLimit {
  readonly service: string
  readonly group: number
  readonly limitBytes: number
  /** How often the memory is measured. */
  readonly everyMs: number
}

/** Looks at the memory of one process group until it is stopped. */
export class MemoryWatch {
  readonly #limit: MemoryLimit
  readonly #runtime: Pick<Runtime, 'memoryOf' | 'setTimer'>
  readonly #log: LogSink
  readonly #onExceeded: (what: string) => void
  #timer: Timer
  /** As it was measured last. */
  usedBytes: number | undefined
  #isStopped = false
  #isWarned = false

  /** `onExceeded` is called once; the memory is not measured after that. */
  constructor(
    limit: MemoryLimit,
    runtime: Pick<Runtime, 'memoryOf' | 'setTimer'>,
    log: LogSink,
    onExceeded: (what: string) => void,
  ) {
    this.#limit = limit
    this.#runtime = runtime
    this.#log = log
    this.#onExceeded = onExceeded
    this.#timer = this.#next()
  }

  stop(): void {
    this.#isStopped = true
    this.#timer.cancel()
  }

  #next(): Timer {
    return this.#runtime.setTimer(this.#limit.everyMs, () => void this.#look())
  }

  async #look(): Promise<void> {
    const { group, limitBytes } = this.#limit
    const used = await this.#runtime.memoryOf(group).catch(() => undefined)
    if (this.#isStopped) return
    this.usedBytes = used
    if (used === undefined) {
      this.stop()
      return this.#warn(
        'cannot be watched for memoryLimitMB: this system does not tell how much memory it uses',
      )
    }
    const share = used / limitBytes
    const text = `${Math.ceil(used / MiB)} MB of the ${Math.floor(limitBytes / MiB)} MB of memoryLimitMB`
    if (share > 1) {
      this.stop()
      return this.#onExceeded(`used ${text} and was ended`)
    }
    if (share >= WARN_SHARE && !this.#isWarned) this.#warn(`uses ${text}; above that it is ended`)
    this.#isWarned = share >= (this.#isWarned ? CALM_SHARE : WARN_SHARE)
    this.#timer = this.#next()
  }

  #warn(what: string): void {
    const { service } = this.#limit
    this.#log({ level: 'warn', service, message: `'${service}' ${what}` })
  }
}
