// The program inside a machine that starts other programs when the service asks for it.
//
// Its one argument is the port of the loopback that leads out; without it there is none.
//
// It is a bundle of its own, with nothing but Node. It runs as the same user as the programs that it starts,
// which can end it, stop it or rewrite it: nothing that protects the host may depend on it.

import { closeSync, readFileSync, readdirSync } from 'node:fs'
import process from 'node:process'
import {
  type AgentFrame,
  AgentFrameReader,
  START_BYTES_MAX,
  agentOrders,
  agentReports,
  connectionOrders,
  decodeTexts,
  encodeFrame,
} from '../frames.js'
import { GuestProgram, NamedPipes, type StartOrder } from './guest-program.js'
import { ProxyPort } from './proxy-port.js'

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

/** Not `node`: `pkill node` is meant for other programs. */
process.title = 'agent'
// A signal to everybody, or to the group, is not meant for it.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const)
  process.on(signal, () => undefined)
closeInherited()
void new Agent().serve(process.argv[2])

function send(kind: number, channel: number, payload?: Uint8Array): void {
  process.stdout.write(encodeFrame(kind, channel, payload))
}

function startOrder(payload: Buffer): StartOrder | undefined {
  const [program, cwd, count, ...rest] = decodeTexts(payload) ?? []
  if (program === undefined || cwd === undefined || count === undefined) return undefined
  const args = rest.slice(0, Number(count))
  const env = Object.fromEntries(
    rest.slice(args.length).map((text) => {
      const at = text.indexOf('=')
      return [text.slice(0, at), text.slice(at + 1)]
    }),
  )
  return { program, args, cwd, env }
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
