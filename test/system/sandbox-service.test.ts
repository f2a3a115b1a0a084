// The whole command with a sandbox, as root and as an ordinary user: attacks of clients, and remains.

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { gone, until } from '../integration/support/waiting.js'
import {
  SandboxCommands,
  type Served,
  descendantsOf,
  marked,
  programOf,
  residentMiB,
} from './support/sandbox-commands.js'

/** Clients can make the service grow by this much. */
const GROWTH_MIB = 20
const FLOODS_MAX = 3
const WARM_CALLS = 500
const PAUSE_MS = 50

const forkBomb = `
import os, time
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
except OSError as error:
    print(error.strerror, flush=True)
    raise SystemExit(1)
`

const singleBytes = `
import os
while True:
    os.write(1, b"x")
    os.write(2, b"y")
`

const diskFill = `
import os, time
for name in ("a", "b"):
    os.posix_fallocate(os.open(name, os.O_CREAT | os.O_WRONLY), 0, 700 << 20)
print("filled", flush=True)
time.sleep(1000)
`

const inPython = (source: string): object => ({ command: '/usr/bin/python3', args: ['-c', source] })

/** Each attack, and the limit in its answer. */
const attacks: readonly (readonly [title: string, source: string, limit: RegExp])[] = [
  ['full disk', diskFill, /the disk limit of 1 GiB/],
  ['memory bomb', 'bytearray(2 << 30)', /MemoryError/],
  ['fork bomb', forkBomb, /Resource temporarily unavailable/],
]

for (const as of ['root', 'user'] as const)
  describe(`the service of ${as === 'root' ? 'root' : 'an ordinary user'}`, () => {
    const scope = { after: (end: () => Promise<void> | void) => after(end) }
    const commands = new SandboxCommands(scope, as)

    for (const killed of ['the command', 'the command and its program'] as const)
      test(`${killed}, killed in the middle of 20 calls, leave nobody, and nothing after the next start`, async (t) => {
        const { spawned, client, pid } = await commands.serve(t)
        const mark = `${2_000_000 + pid}`
        const escape = `(env -i setsid sleep ${mark} &)`
        const code = `import os, time\nos.system("${escape}")\nprint("go", flush=True)\ntime.sleep(1000)`
        const calls = Array.from({ length: 10 }, (_, index) => {
          const session_id = `s${index}`
          return [
            client.code(code, { session_id }),
            client.command(`${escape}; sleep ${mark}`, { session_id }),
          ].map((call) => call.catch(() => 'unanswered'))
        }).flat()
        await until(() => marked(mark).length === 30)
        const folders = commands.foldersOf(pid)
        assert.equal(folders.length, 1)
        const below = descendantsOf(pid)
        assert(below.length > 60, String(below.length))
        if (killed === 'the command and its program') {
          // The command does not see its program end first.
          spawned.child.kill('SIGSTOP')
          process.kill(programOf(pid), 'SIGKILL')
        }
        spawned.child.kill('SIGKILL')
        await until(() => below.every((each) => gone(each)))
        assert.deepEqual(marked(mark), [])
        assert.deepEqual(
          await Promise.all(calls),
          calls.map(() => 'unanswered'),
        )
        // A program that has lost its client alone may remove its files itself, and the start of another service of root,
        // as of a test file beside this one, removes those of all that root has started.
        if (killed === 'the command and its program' && !commands.isShared)
          assert.deepEqual(commands.foldersOf(pid), folders)

        const next = await commands.serve(t)
        assert.equal((await next.client.code('6 * 7')).text, '42\n')
        if (commands.isShared) await until(() => commands.foldersOf(pid).length === 0)
        else assert.deepEqual(commands.foldersOf(pid), [])
        next.spawned.end()
        assert.equal(await next.spawned.exited, 0)
        assert.deepEqual(commands.foldersOf(next.pid), [], 'whoever ends by himself leaves nothing at once')
      })

    test('holds its own memory while a client floods it', async (t) => {
      const { client, pid } = await commands.serve(t)
      const flood = (session_id: string): Promise<unknown> =>
        client.command('yes & yes >&2', { session_id, timeout: 2 })
      await client.code('1', { session_id: 'other' })
      // Memory that the engine takes for itself the first time is no growth.
      await Promise.all([flood('a'), flood('b')])
      const grown: number[] = []
      // Kept memory grows with each flood. Memory that the engine has not freed yet on a busy machine does not.
      while (grown.every((each) => each > GROWTH_MIB) && grown.length < FLOODS_MAX) {
        const before = serviceMiB(pid)
        const peak = peakOf(pid)
        const floods = Promise.all([
          flood('a'),
          flood('b'),
          client.code('while True: print("x" * 1000)', { session_id: 'a', timeout: 2 }),
          // A4: single bytes, each in a separate read.
          client.call('execute_command', { ...inPython(singleBytes), session_id: 'b', timeout: 2 }),
        ])
        for (let index = 0; index < 20; index++)
          assert.equal((await client.code(`${index}`, { session_id: 'other' })).text, `${index}\n`)
        await floods
        grown.push(Math.round(peak.stop() - before))
      }
      assert(Math.min(...grown) <= GROWTH_MIB, `grew by ${grown.join(', ')} MiB`)
    })

    test('names the limit that an attack meets, and answers others meanwhile', async (t) => {
      const served = await commands.serve(t)
      // The engine takes more memory until its code is compiled.
      for (let index = 0; index < WARM_CALLS; index++)
        await served.client.code('x = 1', { session_id: 'other' })
      for (const [title, source, limit] of attacks) await t.test(title, () => attack(served, source, limit))
    })
  })

/** Runs the attack in a new session and stops that. Runs it again when memory has grown that the engine may free soon. */
async function attack(served: Served, source: string, limit: RegExp): Promise<void> {
  const grown: number[] = []
  while (grown.every((each) => each > GROWTH_MIB) && grown.length < FLOODS_MAX)
    grown.push(await growthIn(served, source, limit))
  assert(Math.min(...grown) <= GROWTH_MIB, `grew by ${grown.join(', ')} MiB`)
}

/** By how many MiB the service grows in an attack. */
async function growthIn({ client, pid }: Served, source: string, limit: RegExp): Promise<number> {
  await client.command('true', { session_id: 's' })
  const before = serviceMiB(pid)
  const peak = peakOf(pid)
  const state = { isOver: false }
  const attacked = client
    .call('execute_command', { ...inPython(source), session_id: 's', timeout: 300 })
    .finally(() => (state.isOver = true))
  let answered = 0
  for (; !state.isOver; answered++) {
    assert.equal((await client.code('x', { session_id: 'other' })).text, '1\n')
    // Thousands of calls would take memory that the attack has not.
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
  }
  const { message, text } = await attacked
  const grown = Math.round(peak.stop() - before)
  assert.match(`${message}${text}`, limit)
  assert(answered > 0)
  await client.call('stop_session', { session_id: 's' })
  const anew = await client.command('ls; echo on', { session_id: 's' })
  assert.equal(anew.text, 'on\n', anew.message)
  await client.call('stop_session', { session_id: 's' })
  return grown
}

/** The memory of the command and of the program that it has started. */
function serviceMiB(pid: number, program = programOf(pid)): number {
  return residentMiB(pid) + residentMiB(program)
}

/** The most memory that both have had, looked at often. */
function peakOf(pid: number): { stop(): number } {
  const program = programOf(pid)
  let most = serviceMiB(pid, program)
  const timer = setInterval(() => (most = Math.max(most, serviceMiB(pid, program))), 20)
  return {
    stop: () => {
      clearInterval(timer)
      return most
    },
  }
}
