// The program inside a machine that starts other programs on request of the service.
//
// Its one argument is the port of the loopback that leads out; without it the machine has no such port.
//
// It is a separate bundle that needs only Node. It runs as the same user as the programs that it starts, which can end it, stop
// it or rewrite it: the protection of the host must not depend on it.

import type { Buffer } from 'node:buffer'
import { closeSync, readFileSync, readdirSync } from 'node:fs'
import { type Server, type Socket, createServer } from 'node:net'
import process from 'node:process'
import {
  type AgentFrame,
  AgentFrameReader,
  CONNECTIONS_MAX,
  CONNECTION_WINDOW,
  FRAME_BYTES_MAX,
  START_BYTES_MAX,
  agentOrders,
  agentReports,
  connectionOrders,
  connectionReports,
  costPayload,
  decodeTexts,
  encodeFrame,
  frameCost,
  payloadsOf,
} from '../frames.js'
import { GuestProgram, NamedPipes, type StartOrder } from './guest-program.js'

/** `O_CLOEXEC` of open(2), as `/proc` shows it. */
const O_CLOEXEC = 0o2000000

/** Starts the programs that the service asks for, until the service is gone. */
class Agent {
  readonly #programs = new Map<number, GuestProgram>()
  readonly #pipes = new NamedPipes()
  readonly #port = new ProxyPort(send)
  readonly #reader = new AgentFrameReader(START_BYTES_MAX)

  async serve(port: string | undefined): Promise<void> {
    if (port !== undefined) await this.#port.listen(Number(port))
    process.stdout.on('error', () => process.exit(1))
    process.stdin.on('data', (chunk: Buffer) => this.#read(chunk))
    // The service is gone, so the agent ends.
    process.stdin.on('end', () => process.exit(0))
    process.stdin.on('error', () => process.exit(0))
    send(agentReports.ready, 0)
  }

  #read(chunk: Buffer): void {
    const frames = this.#reader.push(chunk)
    if (frames === undefined) process.exit(1)
    for (const frame of frames) this.#take(frame)
  }

  #take({ kind, channel, payload }: AgentFrame): void {
    if (kind === agentOrders.start) return this.#start(channel, payload)
    if (kind >= connectionOrders.deliver) return this.#port.order(kind, channel, payload)
    const program = this.#programs.get(channel)
    // The program has ended while this frame was in transit.
    if (program === undefined) return
    switch (kind) {
      case agentOrders.input:
        return program.write(payload)
      case agentOrders.inputEnd:
        return program.endInput()
      case agentOrders.interrupt:
        return program.interrupt()
      case agentOrders.kill:
        return program.kill()
      case agentOrders.taken:
        return program.taken(payload.readUInt8(0), payload.readUInt32BE(1))
    }
  }

  #start(channel: number, payload: Buffer): void {
    const order = startOrder(payload)
    if (order === undefined) process.exit(1)
    const program = new GuestProgram(channel, order, {
      send: (kind, bytes) => send(kind, channel, bytes),
      ended: () => this.#programs.delete(channel),
    })
    this.#programs.set(channel, program)
    program.begin(this.#pipes)
  }
}

function send(kind: number, channel: number, payload?: Uint8Array): void {
  process.stdout.write(encodeFrame(kind, channel, payload))
}

function startOrder(payload: Buffer): StartOrder | undefined {
  const [program, count, ...rest] = decodeTexts(payload) ?? []
  if (program === undefined || count === undefined) return undefined
  const args = rest.slice(0, Number(count))
  const env = Object.fromEntries(
    rest.slice(args.length).map((text) => {
      const at = text.indexOf('=')
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
  return { program, args, env }
}

/** Closes descriptors that the process which started the service has left open; every program would inherit them. */
function closeInherited(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name)
    if (descriptor > 2 && isPassedOn(descriptor)) closeSync(descriptor)
  }
}

function isPassedOn(descriptor: number): boolean {
  try {
    const [, flags = '0'] =
      /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? []
    return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    // This is the descriptor by which the folder was read.
    return false
  }
}

// The port of the machine's loopback that leads out: the agent forwards bytes between programs and the service.
//
// The proxy itself is in the service. The agent reads no byte of the content, and only limits the number of connections.

type Send = (kind: number, channel: number, payload?: Uint8Array) => void

const BUSY_BODY = `${CONNECTIONS_MAX} connections of this sandbox are open already\n`
const BUSY = `HTTP/1.1 503 Too many connections\r\nContent-Type: text/plain\r\nContent-Length: ${BUSY_BODY.length}\r\nConnection: close\r\n\r\n${BUSY_BODY}`

export class ProxyPort {
  readonly #send: Send
  readonly #connections = new Map<number, ProgramConnection>()
  #last = 0

  constructor(send: Send) {
    this.#send = send
  }

  listen(port: number): Promise<Server> {
    const server = createServer({ allowHalfOpen: true }, (socket) => this.#take(socket))
    return new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', () => resolve(server))
    })
  }

  /** Handles an order about a connection; ignores one for a connection that is gone. */
  order(kind: number, channel: number, payload: Buffer): void {
    this.#connections.get(channel)?.order(kind, payload)
  }

  #take(socket: Socket): void {
    socket.on('error', () => undefined)
    if (this.#connections.size >= CONNECTIONS_MAX) {
      socket.resume()
      socket.end(BUSY, () => socket.destroySoon())
      return
    }
    // When numbers wrap around, the reused ones belong to connections long gone.
    const channel = (this.#last = (this.#last + 1) % 2 ** 32)
    this.#send(connectionReports.open, channel)
    this.#connections.set(
      channel,
      new ProgramConnection(socket, (kind, bytes) => this.#send(kind, channel, bytes)),
    )
    socket.once('close', () => {
      this.#connections.delete(channel)
      this.#send(connectionReports.gone, channel)
    })
  }
}

/** The connection of one program, read within the window of the service. */
class ProgramConnection {
  readonly #socket: Socket
  readonly #send: (kind: number, payload?: Uint8Array) => void
  /** Cost of the bytes sent for which the service has granted no credit yet. */
  #outstanding = 0

  constructor(socket: Socket, send: (kind: number, payload?: Uint8Array) => void) {
    this.#socket = socket
    this.#send = send
    socket.setNoDelay(true)
    socket.on('data', (chunk: Buffer) => this.#sent(chunk))
    socket.on('end', () => send(connectionReports.sentEnd))
  }

  order(kind: number, payload: Buffer): void {
    switch (kind) {
      case connectionOrders.deliver:
        this.#socket.write(payload, () => this.#delivered(frameCost(payload.length)))
        return
      case connectionOrders.deliverEnd:
        this.#socket.end()
        return
      case connectionOrders.sentTaken:
        this.#outstanding -= payload.readUInt32BE(0)
        if (!this.#isHeld()) this.#socket.resume()
        return
      case connectionOrders.drop:
        // An ended output reaches the program; an output that was not ended must not look complete.
        if (this.#socket.writableEnded) this.#socket.destroySoon()
        else this.#socket.resetAndDestroy()
    }
  }

  #delivered(cost: number): void {
    if (!this.#socket.destroyed) this.#send(connectionReports.delivered, costPayload(cost))
  }

  #sent(chunk: Buffer): void {
    for (const payload of payloadsOf(chunk)) {
      this.#outstanding += frameCost(payload.length)
      this.#send(connectionReports.sent, payload)
    }
    if (this.#isHeld()) this.#socket.pause()
  }

  #isHeld(): boolean {
    return this.#outstanding + frameCost(FRAME_BYTES_MAX) > CONNECTION_WINDOW
  }
}

/** The title is not `node`, because `pkill node` is meant for other programs. */
process.title = 'agent'
// A signal to all processes, or to the group, is not meant for the agent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const)
  process.on(signal, () => undefined)
closeInherited()
void new Agent().serve(process.argv[2])
