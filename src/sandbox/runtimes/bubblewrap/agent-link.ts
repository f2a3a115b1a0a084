// The connection to the agent of one machine.
//
// The service does not trust the agent. A frame that an honest agent would not send ends the machine. The windows of the channels
// bound how many bytes the agent can send.

import { Buffer } from 'node:buffer'
import type { Readable, Writable } from 'node:stream'
import {
  type AgentFrame,
  AgentFrameReader,
  FRAME_BYTES_MAX,
  START_BYTES_MAX,
  agentOrders,
  agentReports,
  connectionReports,
  encodeFrame,
  encodeTexts,
  frameCost,
} from '../../frames.js'
import type { GuestExit, GuestProcess } from '../../runtime.js'
import { LONG_READ_BYTES, allocateGcBallast } from '../../../runtime/gc-ballast.js'
import { FULL_READ_BYTES, ReadThrottle } from '../../../runtime/read-throttle.js'
import { type AcceptConnection, GuestChannel, GuestConnections } from './channels.js'

/** The most programs of a machine that run at a time; the service asks for fewer. */
const CHANNELS_MAX = 64

/** The most connections accepted in one turn of the event loop: each takes as long as a hundred other frames. */
const OPENS_A_TURN_MAX = 64

/**
 * The most bytes sent to the agent and not yet read by it, as `frameCost` counts.
 *
 * The limit covers the windows of all connections, and of more programs than the service asks for with a few long starts. No
 * window bounds an agent that reads nothing: it can close and open connections for ever, and the service reports the end of each.
 */
const UNREAD_COST_MAX = 32 * 1024 * 1024

/** The program to start, with all its variables. */
export interface AgentCommand {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
}

export interface AgentStreams {
  readonly input: Writable
  readonly output: Readable
}

export interface AgentLinkEvents {
  /** Called when programs can be started. */
  ready(): void
  /** Called when the agent breaks the protocol; the link reads nothing after that. */
  broken(how: string): void
  /** Adds to the exit of a program the limit that caused it. */
  explain(program: GuestProcess, exit: GuestExit): GuestExit
  /** Called when a program has connected to the port of the agent; absent where there is no such port. */
  readonly connected?: AcceptConnection | undefined
}

export class AgentLink {
  readonly #streams: AgentStreams
  readonly #events: AgentLinkEvents
  readonly #reader = new AgentFrameReader(FRAME_BYTES_MAX)
  readonly #throttle: ReadThrottle
  readonly #channels = new Map<number, GuestChannel>()
  readonly #connections: GuestConnections | undefined
  #lastChannel = 0
  #opensOfTurn = 0
  #unread = 0
  #isReady = false
  #end: GuestExit | undefined

  constructor(streams: AgentStreams, events: AgentLinkEvents) {
    this.#streams = streams
    this.#events = events
    this.#throttle = new ReadThrottle(streams.output)
    this.#connections =
      events.connected &&
      new GuestConnections(events.connected, (kind, channel, payload) => this.#send(kind, channel, payload))
    streams.input.on('error', () => undefined)
    streams.output.on('error', () => undefined)
    streams.output.on('data', (chunk: Buffer) => {
      if (chunk.length >= LONG_READ_BYTES) allocateGcBallast(chunk.length)
      this.#read(chunk)
    })
  }

  /** The number of programs that the service waits for. */
  get running(): number {
    return this.#channels.size
  }

  run({ program, args, env }: AgentCommand): GuestProcess {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${value}`)
    const order = encodeTexts([program, String(args.length), ...args, ...variables])
    const number = ++this.#lastChannel
    const channel = new GuestChannel((kind, payload) => {
      if (this.#channels.has(number)) this.#send(kind, number, payload)
    })
    const failure = this.#refusal(order.length, env)
    if (failure !== undefined) {
      channel.end(failure)
      return channel
    }
    this.#channels.set(number, channel)
    this.#send(agentOrders.start, number, order)
    return channel
  }

  /** Ends every program with this exit when the machine is gone. */
  end(exit: GuestExit): void {
    this.#end ??= exit
    for (const channel of this.#channels.values()) channel.end(this.#end)
    this.#channels.clear()
    this.#connections?.end()
    this.#streams.input.destroy()
    this.#streams.output.destroy()
  }

  #refusal(bytes: number, env: AgentCommand['env']): GuestExit | undefined {
    if (this.#end !== undefined) return this.#end
    const none = { code: undefined, signal: undefined }
    if (this.#channels.size >= CHANNELS_MAX)
      return { ...none, failure: `${CHANNELS_MAX} programs run already` }
    if (bytes > START_BYTES_MAX)
      return { ...none, failure: 'the arguments and variables are too long: E2BIG' }
    const bad = Object.keys(env).find((name) => name === '' || name.includes('='))
    if (bad !== undefined) return { ...none, failure: `'${bad}' is no name of a variable` }
    return undefined
  }

  #send(kind: number, channel: number, payload?: Uint8Array): void {
    if (this.#end !== undefined) return
    const frame = encodeFrame(kind, channel, payload)
    const cost = frameCost(frame.length)
    this.#unread += cost
    if (this.#unread > UNREAD_COST_MAX) return this.#break('it does not read what it is told')
    this.#streams.input.write(frame, () => (this.#unread -= cost))
  }

  #read(chunk: Buffer): void {
    if (this.#end !== undefined) return
    const frames = this.#reader.push(chunk)
    if (frames === undefined) return this.#break('a frame is too long')
    this.#takeAll(frames)
    if (chunk.length >= FULL_READ_BYTES) this.#throttle.worked(frames.length)
  }

  /** Handles frames in order. An open frame above the limit of this turn waits for the next turn, with all frames after it. */
  #takeAll(frames: readonly AgentFrame[]): void {
    for (const [at, frame] of frames.entries()) {
      if (this.#end !== undefined) return
      if (frame.kind === connectionReports.open && !this.#mayOpen()) return this.#postpone(frames.slice(at))
      this.#take(frame)
    }
    this.#throttle.want(true)
  }

  #mayOpen(): boolean {
    if (this.#opensOfTurn === 0) setImmediate(() => (this.#opensOfTurn = 0))
    return ++this.#opensOfTurn <= OPENS_A_TURN_MAX
  }

  #postpone(frames: readonly AgentFrame[]): void {
    this.#throttle.want(false)
    setImmediate(() => this.#takeAll(frames))
  }

  #take({ kind, channel, payload }: AgentFrame): void {
    if (kind === agentReports.ready && channel === 0 && !this.#isReady) {
      this.#isReady = true
      return this.#events.ready()
    }
    if (kind >= connectionReports.open) {
      if (this.#connections?.take(kind, channel, payload) !== true) this.#wrong(kind, channel)
      return
    }
    const program = this.#channels.get(channel)
    const taken = program?.take(kind, payload) ?? false
    if (program === undefined || taken === false) return this.#wrong(kind, channel)
    if (taken === true) return
    this.#channels.delete(channel)
    program.end(this.#events.explain(program, taken))
  }

  #wrong(kind: number, channel: number): void {
    this.#break(`a frame of kind ${kind} on channel ${channel}`)
  }

  #break(how: string): void {
    this.end({ code: undefined, signal: undefined, failure: 'the agent of the machine broke its protocol' })
    this.#events.broken(how)
  }
}
