// The contract of a machine, for every kind of isolation.

import assert from 'node:assert/strict'
import { text } from 'node:stream/consumers'
import { after, describe, test } from 'node:test'
import { WORKSPACE } from '../../src/sandbox/runtimes/host-runtime.js'
import type {
  GuestCommand,
  GuestExit,
  GuestProcess,
  Machine,
  MachineSpec,
  SandboxRuntime,
} from '../../src/sandbox/runtime.js'

/** A machine of the smallest flavor, with nothing of the host. */
export const plainSpec: MachineSpec = {
  sessionId: 'session',
  sessionName: 'name',
  language: 'node',
  interpreter: undefined,
  image: undefined,
  env: {},
  flavor: { cpus: 1, memoryMiB: 1024, pids: 64, diskGiB: 1 },
  volumes: [],
  network: { kind: 'none' },
  startTimeoutMs: 60_000,
}

/** The output of a program, and its exit. */
export interface Ran extends GuestExit {
  readonly stdout: string
  readonly stderr: string
}

/** Starts a machine, which has to be one. */
export async function startedMachine(
  runtime: SandboxRuntime,
  spec: Partial<MachineSpec> = {},
): Promise<Machine> {
  const machine = await runtime.start({ ...plainSpec, ...spec })
  return machine
}

/** Runs a program to its end. */
export async function ran(machine: Machine, command: GuestCommand, input = ''): Promise<Ran> {
  const program = machine.run(command)
  program.stdin.end(input)
  const [stdout, stderr, exit] = await Promise.all([
    text(program.stdout),
    text(program.stderr),
    program.exited,
  ])
  return { ...exit, stdout, stderr }
}

/** A line for the shell. */
export function shell(line: string): GuestCommand {
  return { program: 'sh', args: ['-c', line] }
}

/** Resolves when a program has written this on stdout; what it writes later is read and forgotten. */
export async function said(program: GuestProcess, words: string): Promise<string> {
  let all = ''
  return new Promise((resolve, reject) => {
    program.stdout.on('data', (chunk: Buffer) => {
      all += chunk.toString()
      if (all.includes(words)) resolve(all)
    })
    program.stdout.on('end', () => reject(new Error(`it said: ${all}`)))
    program.stderr.resume()
  })
}

/** The tests of one runtime; `make` gives a new one, which is closed at the end, and `base` is what its machines need. */
export function machineContract(
  title: string,
  make: () => Promise<SandboxRuntime>,
  base: Partial<MachineSpec> = {},
): void {
  describe(`${title}: a machine`, () => {
    const runtimes: SandboxRuntime[] = []
    const runtime = async (): Promise<SandboxRuntime> => {
      const made = await make()
      runtimes.push(made)
      return made
    }
    const machine = async (spec: Partial<MachineSpec> = {}): Promise<Machine> =>
      startedMachine(await runtime(), { ...base, ...spec })
    after(() => Promise.all(runtimes.map((each) => each.close())))

    test('gives a program its arguments as they are, and what is written to it', async () => {
      const inside = await machine()
      const { stdout, stderr, code } = await ran(
        inside,
        { program: 'sh', args: ['-c', 'cat; printf "[%s]" "$@"; echo e >&2', 'sh', 'a b', '', '$(x)'] },
        'input\n',
      )
      assert.deepEqual({ stdout, stderr, code }, { stdout: 'input\n[a b][][$(x)]', stderr: 'e\n', code: 0 })
    })

    test('gives a program the folder of the session and the variables of the machine, and none of the service', async () => {
      process.env['MCPS_PLANTED_SECRET'] = 'planted'
      const inside = await machine({ env: { A: '1', B: '2' } })
      const { stdout } = await ran(inside, shell('echo "$A$B$MCPS_PLANTED_SECRET"; pwd; env'))
      assert(stdout.startsWith(`12\n${WORKSPACE}\n`), stdout)
      assert.doesNotMatch(stdout, /planted/i)
    })

    const exits: readonly (readonly [line: string, code: number | undefined, signal: string | undefined])[] =
      [
        ['exit 0', 0, undefined],
        ['exit 3', 3, undefined],
        ['exit 255', 255, undefined],
        ['kill -TERM $$', undefined, 'SIGTERM'],
        ['kill -KILL $$', undefined, 'SIGKILL'],
      ]
    for (const [line, code, signal] of exits)
      test(`tells how a program ended: ${line}`, async () => {
        const exit = await ran(await machine(), shell(line))
        assert.deepEqual([exit.code, exit.signal, exit.failure], [code, signal, undefined])
      })

    test('names a program that is not there', async () => {
      const exit = await ran(await machine(), { program: 'no-such-program', args: [] })
      assert.match(exit.failure ?? '', /no-such-program.*ENOENT/)
    })

    test('gives all that was written before the end', async () => {
      const { stdout, stderr } = await ran(
        await machine(),
        shell('head -c 3000000 /dev/zero | tr "\\0" o; head -c 300000 /dev/zero | tr "\\0" e >&2'),
      )
      assert.equal(stdout, 'o'.repeat(3_000_000))
      assert.equal(stderr, 'e'.repeat(300_000))
    })

    test('takes a large input', async () => {
      const input = 'x'.repeat(3_000_000)
      assert.equal((await ran(await machine(), shell('wc -c'), input)).stdout.trim(), '3000000')
    })

    test('runs programs beside each other', async () => {
      const inside = await machine()
      const first = inside.run(shell('mkfifo p; echo made; cat p'))
      await said(first, 'made')
      assert.equal((await ran(inside, shell('echo over > p'))).code, 0)
      assert.equal((await first.exited).code, 0)
    })

    test('interrupts the first process of a program', async () => {
      const program = (await machine()).run(
        shell('trap "exit 42" INT; echo ready; while :; do sleep 0.01; done'),
      )
      await said(program, 'ready')
      program.interrupt()
      assert.equal((await program.exited).code, 42)
    })

    test('kills a program that ignores signals, with all that it has started', async () => {
      const inside = await machine()
      const program = inside.run(
        shell(`trap "" INT TERM
          (trap "" TERM; while :; do echo >> beats; sleep 0.01; done) &
          setsid sh -c 'while :; do echo >> beats; sleep 0.01; done' &
          while [ ! -s beats ]; do sleep 0.01; done; echo ready; wait`),
      )
      await said(program, 'ready')
      program.kill()
      assert.equal((await program.exited).signal, 'SIGKILL')
      await stands(inside, 'beats')
    })

    test('has ended once it is stopped, with every program', async () => {
      const inside = await machine()
      const program = inside.run(shell('echo ready; sleep 1000'))
      await said(program, 'ready')
      await inside.stop()
      assert.equal((await inside.ended).reason, 'stopped')
      const { code, failure } = await program.exited
      assert(code !== 0 || failure !== undefined)
      assert.notEqual((await ran(inside, shell('true'))).failure, undefined)
      await inside.stop()
    })

    test('leaves its files to the next machine of its session, and to no other', async () => {
      const own = await runtime()
      const first = await startedMachine(own, base)
      await ran(first, shell('echo kept > file'))
      await first.stop()
      const other = await startedMachine(own, { ...base, sessionId: 'other' })
      assert.notEqual((await ran(other, shell('cat file'))).code, 0)
      const second = await startedMachine(own, base)
      assert.equal((await ran(second, shell('cat file'))).stdout, 'kept\n')
      await second.stop()
      await own.discard('session')
      assert.notEqual((await ran(await startedMachine(own, base), shell('cat file'))).code, 0)
    })

    test('runs the interpreter of its language', async () => {
      const inside = await machine({ language: 'node' })
      const [program, ...args] = inside.interpreter
      const { stdout } = await ran(inside, { program, args: [...args, '-e', 'console.log(6 * 7)'] })
      assert.equal(stdout, '42\n')
    })
  })
}

/** A file of the session stops growing: no process writes to it. */
async function stands(machine: Machine, file: string): Promise<void> {
  const sizes: string[] = []
  // On a busy machine the signals may take a moment.
  while (sizes.at(-1) === undefined || sizes.at(-1) !== sizes.at(-2)) {
    assert(sizes.length < 50, `${file} still grows`)
    sizes.push((await ran(machine, shell(`sleep 0.2; wc -c < ${file}`))).stdout)
  }
}
