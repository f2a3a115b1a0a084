// The program inside a machine that starts other programs when the service asks for it.
//
// Its one argument is the port of the loopback that leads out; without it there is none.
//
// It is a bundle of its own, with nothing but Node. It runs as the same user as the programs that it starts,
// which can end it, stop it or rewrite it: nothing that protects the host may depend on it.

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

/** Starts what is asked for, until nobody asks any more. */
class Agent {
  readonly #programs = new Map<number, GuestProgram>()
  readonly #pipes = new NamedPipes()
  readonly #port = new ProxyPort(send)
  readonly #reader = new AgentFrameReader(START_BYTES_MAX)

  async serve(port: string | undefined): Promise<void> {
    if (port !== undefined) await this.#port.listen(Number(port))
    process.stdout.on('error', () => process.exit(1))
    process.stdin.on('data', (chunk: Buffer) => this.#read(chunk))
    // The service is gone, and with it the reason to be here.
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
    // It has ended while this was on its way.
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

/** What whoever started the service has left open would be passed on to every program. */
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
    // The one by which the folder was read.
    return false
  }
}

// The port of the machine's loopback that leads out: what programs say there goes to the service, and its answers back.
//
// The proxy itself is on the other side. Here nothing is read, and nothing is decided but how many there may be.

type Send = (kind: number, channel: number, payload?: Uint8Array) => void

const BUSY_BODY = `${CONNECTIONS_MAX} connections of this sandbox are open already\n`
const BUSY = `HTTP/1.1 503 Too many connections\r\nContent-Type: text/plain\r\nContent-Length: ${BUSY_BODY.length}\r\nConnection: close\r\n\r\n${BUSY_BODY}`

/** Listens for programs. */
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

  /** An order about a connection; one that is gone has nobody to hear it. */
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
    // Numbers that are used again are those of connections long gone.
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

/** One program that has connected, read as far as the service can take it. */
class ProgramConnection {
  readonly #socket: Socket
  readonly #send: (kind: number, payload?: Uint8Array) => void
  /** Sent, and not taken yet. */
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
        // What was ended arrives; what was not must not look as if it were whole.
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

/** Not `node`: `pkill node` is meant for other programs. */
process.title = 'agent'
// A signal to everybody, or to the group, is not meant for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const)
  process.on(signal, () => undefined)
closeInherited()
void new Agent().serve(process.argv[2])
