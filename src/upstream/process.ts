// One child process that speaks MCP on its stdin and stdout.

import { NdjsonConnection, type NdjsonOptions } from '../transports/ndjson.js'
import type { DialEnd, Dialed } from './dial.js'
import { spawnSpec } from './environment.js'
import type { Child, ChildExit, LogSink, Runtime } from './host.js'
import type { StdioServerConfig } from './server-config.js'
import { StderrLog } from './stderr-log.js'
import { within } from './within.js'

/** How long each rung of the stop ladder waits (MCP, Lifecycle: shutdown over stdio). */
export interface StopLadder {
  /** After closing stdin. */
  readonly stdinWaitMs: number
  /** After SIGTERM to the process group. */
  readonly termWaitMs: number
  /** After an exit, for what the child wrote before. */
  readonly outputWaitMs: number
}

export interface ProcessSurroundings {
  readonly runtime: Runtime
  readonly log: LogSink
  readonly ladder: StopLadder
  readonly ndjson: NdjsonOptions
}

/** A started child, or one that could not be started and has ended. */
export class ServerProcess implements Dialed {
  readonly connection: NdjsonConnection
  readonly ended: Promise<DialEnd>
  readonly #child: Child
  readonly #around: ProcessSurroundings
  #gone = false
  #stopping: Promise<void> | undefined

  constructor(config: StdioServerConfig, around: ProcessSurroundings) {
    this.#around = around
    this.#child = around.runtime.spawn(spawnSpec(config, around.runtime.env))
    new StderrLog(config.name, around.runtime, around.log).drain(this.#child.stderr)
    this.connection = new NdjsonConnection(this.#child.stdout, this.#child.stdin, around.ndjson)
    this.ended = this.#child.exited.then((exit) => this.#exited(config, exit))
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  stop(): Promise<void> {
    this.#stopping ??= this.#descend()
    return this.#stopping
  }

  async #descend(): Promise<void> {
    const { stdinWaitMs, termWaitMs } = this.#around.ladder
    this.#child.stdin.end()
    if (await this.#goneWithin(stdinWaitMs)) return
    this.#child.signal('SIGTERM')
    if (await this.#goneWithin(termWaitMs)) return
    this.#child.signal('SIGKILL')
    await this.ended
  }

  async #goneWithin(waitMs: number): Promise<boolean> {
    if (!this.#gone) await within(this.ended, waitMs, this.#around.runtime)
    return this.#gone
  }

  /** A grandchild may hold stdout open for ever, so what is still to be read gets a short time only. */
  async #exited(config: StdioServerConfig, exit: ChildExit): Promise<DialEnd> {
    await this.#outputRead()
    this.#gone = true
    this.#child.stdout.destroy()
    this.#child.stderr.destroy()
    return describeExit(config, exit)
  }

  async #outputRead(): Promise<void> {
    const { stdout } = this.#child
    if (stdout.destroyed || stdout.readableEnded) return
    const closed = new Promise<void>((resolve) => {
      stdout.once('close', resolve)
    })
    await within(closed, this.#around.ladder.outputWaitMs, this.#around.runtime)
  }
}

function describeExit(config: StdioServerConfig, exit: ChildExit): DialEnd {
  const { name, command, cwd } = config
  if (exit.spawnError !== undefined) {
    const hint = exit.spawnError === 'ENOENT' ? `; is the command installed, and does ${cwd} exist?` : ''
    return {
      reason: 'spawn-failed',
      message: `'${name}' cannot be started: ${command}: ${exit.spawnError}${hint}`,
    }
  }
  const how = exit.signal === undefined ? `with code ${exit.code}` : `by ${exit.signal}`
  return { reason: 'exited', message: `'${name}' exited ${how}` }
}
