// A gateway that is started as systemd starts one with a socket unit: the socket listens before the gateway and outlives it.

import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import type { Scope } from '../../integration/support/spawned.js'
import { gone } from '../../integration/support/waiting.js'

/** Says the port, and then starts the program once for each line that it reads, and says its process id. */
const holder = `
import os, signal, socket, sys
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
held = socket.socket()
held.bind(('127.0.0.1', 0))
held.listen(1024)
print(held.getsockname()[1], flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(held.fileno(), 3)
        os.set_inheritable(3, True)
        os.environ.update(LISTEN_FDS='1', LISTEN_PID=str(os.getpid()))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(2, 1)
        os.execvp(sys.argv[1], sys.argv[1:])
    print(pid, flush=True)
`

export class HeldSocket {
  readonly port: number
  /** The output of all runs of the program. */
  said = ''
  readonly #child: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>
  #pid = 0

  private constructor(child: ChildProcessWithoutNullStreams, lines: AsyncIterator<string>, port: number) {
    this.#child = child
    this.#lines = lines
    this.port = port
    child.stderr.on('data', (chunk: Buffer) => (this.said = (this.said + chunk.toString()).slice(-20_000)))
  }

  /** The socket of a program; both are gone after the scope. */
  static async open(scope: Scope, command: string, args: readonly string[]): Promise<HeldSocket> {
    const child = spawn('python3', ['-c', holder, command, ...args])
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const held = new HeldSocket(child, lines, Number(await line(lines)))
    scope.after(async () => {
      await held.end('SIGTERM')
      child.stdin.end()
    })
    return held
  }

  async start(): Promise<void> {
    this.#child.stdin.write('start\n')
    this.#pid = Number(await line(this.#lines))
  }

  async end(name: NodeJS.Signals): Promise<void> {
    if (this.#pid === 0 || gone(this.#pid)) return
    process.kill(this.#pid, name)
    while (!gone(this.#pid)) await delay(10)
  }

  /** The next run is started when the last one is gone, as systemd does it. */
  async restart(name: NodeJS.Signals): Promise<void> {
    await this.end(name)
    await this.start()
  }
}

async function line(lines: AsyncIterator<string>): Promise<string> {
  const { value } = await lines.next()
  return String(value)
}
