// One child process that speaks MCP on its stdin and stdout.

import { existsSync } from 'node:fs'
import { finished } from 'node:stream/promises'
import type { Limits } from '../../limits.js'
import type { Redactor } from '../../text/redactor.js'
import { NdjsonConnection } from '../../transports/stdio/ndjson.js'
import type { DialEnd, Dialed } from '../contracts/dialed.js'
import { LastWords, StderrLog } from './stderr-log.js'
import { spawnSpec } from './spawn.js'
import type { Child, ChildExit, LogSink, Runtime, Timer } from '../../runtime/runtime.js'
import type { StdioServerConfig } from '../contracts/server-config.js'
import { within } from '../../runtime/deadline.js'

interface ProcessContext {
  readonly limits: Pick<Limits['upstream'], 'ladder' | 'ndjson' | 'stderr' | 'memoryWatchMs'>
  readonly runtime: Runtime
  readonly log: LogSink
}

/** The answers to `server/discover` and `initialize`. */
const HANDSHAKE_MESSAGES = 2

/** The longest text of stderr in the error of a failed program. */
const WHY_LENGTH_MAX = 300

/** The longest time for a search of descendants, which takes milliseconds on a healthy machine. */
const SURVEY_MS_MAX = 500

const MiB = 1024 * 1024

/** A child that was started, or a failed start, which counts as ended. */
export class ServerProcess implements Dialed {
  readonly connection: NdjsonConnection
  readonly ended: Promise<DialEnd>
  /** The last measured memory of the process group and its descendants; undefined without a limit. */
  memoryBytes: number | undefined
  readonly #config: StdioServerConfig
  readonly #context: ProcessContext
  readonly #child: Child
  readonly #words = new LastWords()
  #memoryTimer: Timer | undefined
  #killReason: DialEnd | undefined
  #isGone = false
  #stopping: Promise<void> | undefined

  /** `redactor` cleans the stderr of the server; `adopted` is a process that runs already. */
  constructor(config: StdioServerConfig, context: ProcessContext, redactor: Redactor, adopted?: Child) {
    const { limits, runtime } = context
    this.#config = config
    this.#context = context
    this.#child = adopted ?? runtime.spawn(spawnSpec(config, runtime.env))
    const { pid, stdin, stdout, stderr } = this.#child
    new StderrLog(config.name, context, redactor, this.#words).drain(stderr)
    this.connection = new NdjsonConnection(stdout, stdin, limits.ndjson, runtime)
    if (pid !== undefined && config.memoryLimitBytes !== undefined)
      this.#watchMemory(pid, config.memoryLimitBytes)
    this.ended = this.#child.exited.then((exit) => this.#exited(exit))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#descend()
    return this.#stopping
  }

  async #descend(): Promise<void> {
    const { stdinWaitMs, killWaitMs } = this.#context.limits.ladder
    // A browser that a server has started in another process group can be found only while the server runs.
    const surveyed = this.#isGone ? undefined : this.#surveyed()
    this.connection.endOutput(surveyed)
    await surveyed
    if (await this.#isGoneWithin(stdinWaitMs)) return
    this.#child.signal('SIGTERM')
    if (await this.#isGoneWithin(this.#config.stopTimeoutMs)) return
    this.#child.signal('SIGKILL')
    if (await this.#isGoneWithin(killWaitMs)) return
    this.#say('error', `process ${this.pid} does not end, not even by SIGKILL: the system holds it`)
  }

  /** Finds processes that have left the group; undefined if the system does not show them. */
  #surveyed(): Promise<unknown> | undefined {
    const survey = this.#child.survey?.()
    return survey && within(survey, SURVEY_MS_MAX, this.#context.runtime)
  }

  async #isGoneWithin(waitMs: number): Promise<boolean> {
    if (!this.#isGone) await within(this.ended, waitMs, this.#context.runtime)
    return this.#isGone
  }

  /**
   * First reads the last answer and the last lines of stderr. A grandchild may hold the streams open for
   * ever, so the wait is short.
   */
  async #exited(exit: ChildExit): Promise<DialEnd> {
    this.#memoryTimer?.cancel()
    this.#memoryTimer = undefined
    const { stdout, stderr } = this.#child
    const allRead = Promise.allSettled([stdout, stderr].map((each) => finished(each, { writable: false })))
    const { limits, runtime } = this.#context
    await within(allRead, limits.ladder.outputWaitMs, runtime)
    this.#isGone = true
    stdout.destroy()
    stderr.destroy()
    return this.#killReason ?? describeExit(this.#config, exit, this.#why(exit))
  }

  /** The reason in the text of the program. Lines before the handshake count as reasons. */
  #why({ code }: ChildExit): string {
    const isStarted = this.connection.sentCount > HANDSHAKE_MESSAGES
    const { error, lines } = this.#words
    const said = isStarted || code === 0 ? error : lines.slice(-1)
    if (said.length === 0 || code === undefined) return ''
    return `: ${said.join(' ').trim().slice(0, WHY_LENGTH_MAX)}`
  }

  /** Ends a server that leaks before it takes down the machine with all other servers. */
  #watchMemory(group: number, limitBytes: number): void {
    const { limits, runtime } = this.#context
    const look = async (): Promise<void> => {
      const used = await runtime.memoryOf(group).catch(() => undefined)
      if (this.#memoryTimer === undefined) return
      this.memoryBytes = used
      const { name } = this.#config
      if (used === undefined) {
        const problem = 'this system does not tell how much memory it uses'
        return this.#say('warn', `'${name}' cannot be watched for memoryLimitMB: ${problem}`)
      }
      if (used <= limitBytes) return this.#watchMemory(group, limitBytes)
      const text = `${Math.ceil(used / MiB)} MB of the ${Math.floor(limitBytes / MiB)} MB of memoryLimitMB`
      this.#killReason = { reason: 'memory-limit', message: `'${name}' used ${text} and was ended` }
      await this.#surveyed()
      this.#child.signal('SIGKILL')
    }
    this.#memoryTimer = runtime.setTimer(limits.memoryWatchMs, () => void look())
  }

  #say(level: 'error' | 'warn', message: string): void {
    this.#context.log({ level, service: this.#config.name, message })
  }
}

/** A name with arguments behind it. A path does not match, because paths may contain spaces. */
const commandLine = /^[^\s/\\]+\s+\S/
const splitRemedy = 'write its first word alone as "command", and the others as "args"'
const programRemedy = 'install it, check PATH, or write its whole path as "command"'

const remedies: Readonly<Record<string, (cwd: string, command: string) => string>> = {
  ENOENT: (cwd, command) =>
    existsSync(cwd)
      ? `no such program; ${commandLine.test(command) ? splitRemedy : programRemedy}`
      : `the working folder ${cwd} does not exist; make it, or change "cwd"`,
  // The system reports EACCES also for a missing program if one folder of PATH is closed.
  EACCES: (cwd, command) =>
    `is it a program that may be executed, and may ${cwd}${/[/\\]/.test(command) ? '' : ' and every folder of PATH'} be entered?`,
  ENOEXEC: () => 'is it a program for this machine, or a script with #! in its first line?',
  EMFILE: () => 'this process has no file descriptors left (ulimit -n)',
  EAGAIN: () => 'the system allows no further process (ulimit -u)',
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
