// The program inside a machine that starts other programs for the service.
//
// Its one argument is the loopback port of the way out. Without it, the machine has no such port.
//
// It is a separate bundle that needs only Node. It runs as the same user as the programs that it starts. They
// can end it, stop it or rewrite it, so the protection of the host must not depend on it.

import process from 'node:process'
import { type AgentOrder, type AgentReport, LineReader, PIPES_PATH, WAY_OUT } from '../agent-messages.js'
import { closeInheritedDescriptors } from '../processes.js'
import { GuestProgram } from './guest-program.js'
import { openWayOut } from './way-out.js'

class Agent {
  readonly #programs = new Map<number, GuestProgram>()
  readonly #reader = new LineReader(Infinity)

  async serve(port: string | undefined): Promise<void> {
    if (port !== undefined) await openWayOut(Number(port), `${PIPES_PATH}/${WAY_OUT}`)
    process.stdout.on('error', () => process.exit(1))
    process.stdin.on('data', (chunk: Buffer) => {
      for (const line of this.#reader.push(chunk) ?? []) {
        const order: AgentOrder = JSON.parse(line)
        this.#obey(order)
      }
    })
    process.stdin.on('end', () => process.exit(0))
    process.stdin.on('error', () => process.exit(0))
    report({ kind: 'ready' })
  }

  #obey(order: AgentOrder): void {
    const { id } = order
    if (order.kind === 'start') {
      this.#programs.set(id, new GuestProgram(order, report))
      return
    }
    const program = this.#programs.get(id)
    switch (order.kind) {
      case 'interrupt':
        return program?.interrupt()
      case 'kill':
        return program?.kill()
      case 'abandon':
        this.#programs.delete(id)
        return program?.discardOutput()
    }
  }
}

function report(what: AgentReport): void {
  process.stdout.write(`${JSON.stringify(what)}\n`)
}

/** The title is not `node`, because `pkill node` is meant for other programs. */
process.title = 'agent'
// A signal to all processes, or to the group, is not meant for the agent.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2', 'SIGPIPE'] as const)
  process.on(signal, () => undefined)
closeInheritedDescriptors()
void new Agent().serve(process.argv[2])
