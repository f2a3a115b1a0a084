// The service's side of the connection to an agent, which code of a session may have rewritten.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import {
  closeSync,
  constants,
  createReadStream,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough } from 'node:stream'
import { finished } from 'node:stream/promises'
import { text } from 'node:stream/consumers'
import { type TestContext, describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import * as fc from 'fast-check'
import { realRuntime } from '../../src/real-runtime.js'
import { type AgentOrder, LineReader } from '../../src/sandbox/agent-messages.js'
import { AgentLink } from '../../src/sandbox/runtimes/bubblewrap/agent-link.js'
import { MachinePipes, paced } from '../../src/sandbox/runtimes/bubblewrap/machine-program.js'
import { until } from '../integration/support/waiting.js'
import { numRuns } from '../properties/runs.js'

const skip = process.platform === 'win32'

function scene(t: Pick<TestContext, 'after'>, { isDeaf = false } = {}) {
  const parent = mkdtempSync(join(tmpdir(), 'mcps-link-'))
  const runtime = realRuntime()
  const pipes = new MachinePipes(join(parent, 'pipes'), runtime, undefined)
  const [input, output] = [new PassThrough(), new PassThrough()]
  const broken: string[] = []
  /** The orders that the agent received. */
  const orders: AgentOrder[] = []
  const reader = new LineReader(Infinity)
  if (!isDeaf)
    input.on('data', (chunk: Buffer) => {
      for (const line of reader.push(chunk) ?? []) orders.push(JSON.parse(line))
    })
  const link = new AgentLink({ stdin: input, stdout: output }, pipes, runtime, (how) => broken.push(how))
  t.after(async () => {
    link.end({ code: undefined, signal: undefined, failure: 'over' })
    await pipes.remove()
    await runtime.close()
    assert.deepEqual(readdirSync(parent), [], 'the pipes are removed')
    rmSync(parent, { recursive: true })
  })
  /** Writes as the agent does. */
  const report = async (...reports: readonly (object | string)[]): Promise<void> => {
    for (const each of reports)
      if (!output.destroyed) output.write(typeof each === 'string' ? each : `${JSON.stringify(each)}\n`)
    await turn()
    await turn()
  }
  return { link, folder: pipes.folder, report, orders, broken }
}

/** The same, where the agent has got the order to start the command. */
async function started(t: Pick<TestContext, 'after'>) {
  const made = scene(t)
  const program = made.link.run(command)
  await until(() => made.orders.length === 1)
  return { ...made, program }
}

const command = { program: 'p', args: ['a', ''], env: { A: '1=2', B: '' } }
const exit = { kind: 'exit', id: 1, code: 0, signal: null }

test('lines come whole however they are cut', () =>
  fc.assert(
    fc.property(
      fc.array(fc.stringMatching(/^[^\n]{0,30}$/)),
      fc.integer({ min: 1, max: 50 }),
      (lines, size) => {
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const reader = new LineReader(200)
        const read = []
        for (let at = 0; at < bytes.length; at += size)
          read.push(...(reader.push(Buffer.from(bytes.subarray(at, at + size))) ?? []))
        assert.deepEqual(read, lines)
      },
    ),
    { numRuns: numRuns(200) },
  ))

test('lines longer than allowed are none, with an end and without', () => {
  assert.deepEqual(new LineReader(10).push(Buffer.from(`${'x'.repeat(10)}\n`)), ['x'.repeat(10)])
  assert.equal(new LineReader(10).push(Buffer.from(`${'x'.repeat(11)}\n`)), undefined)
  assert.equal(new LineReader(10).push(Buffer.from('x'.repeat(11))), undefined)
})

describe('an agent', { skip }, () => {
  test('gets the order to start, and the service reads what the program wrote until its end', async (t) => {
    const { program, folder, report, orders } = await started(t)
    assert.deepEqual(orders, [{ kind: 'start', id: 1, ...command }])
    const kept = openSync(join(folder, '1.1'), 'w')
    writeSync(kept, 'out')
    const descriptor = openSync(join(folder, '1.2'), 'w')
    writeSync(descriptor, 'err')
    closeSync(descriptor)
    await report({ kind: 'started', id: 1 }, { ...exit, code: 3 })
    // A process that was left behind keeps the output open.
    assert.deepEqual(await Promise.all([text(program.stdout), text(program.stderr)]), ['out', 'err'])
    assert.deepEqual(await program.exited, { code: 3, signal: undefined })
    assert.deepEqual(orders.at(-1), { kind: 'abandon', id: 1 })
    closeSync(kept)
  })

  // A7: output that the service has not read is held by the kernel alone.
  test('whose program writes more than is read waits', async (t) => {
    const { program, folder } = await started(t)
    program.stdout.pause()
    const descriptor = openSync(join(folder, '1.1'), constants.O_WRONLY | constants.O_NONBLOCK)
    let written = 0
    for (let idle = 0; idle < 10; idle++)
      try {
        written += writeSync(descriptor, 'x')
        idle = 0
      } catch {
        await turn()
      }
    closeSync(descriptor)
    assert(written < 1024 * 1024, `${written} bytes were taken`)
    assert(program.stdout.readableLength <= 128 * 1024)
  })

  test('reads long output slowly after a burst', async () => {
    let waits = 0
    const setTimer = (_delayMs: number, fire: () => void): { cancel(): void } => {
      waits++
      setImmediate(fire)
      return { cancel: () => {} }
    }
    const stream = paced({ setTimer }).resume()
    for (let mib = 0; mib < 18; mib++) stream.write(Buffer.alloc(1024 * 1024))
    await finished(stream.end())
    assert.equal(waits, 2)
  })

  test('passes input on when it has opened the pipe, and to the end', async (t) => {
    const { link, folder, report, orders } = scene(t)
    link.run(command).stdin.end('x'.repeat(1_000_000))
    await until(() => orders.length === 1)
    const input = createReadStream(join(folder, '1.0'))
    await new Promise((resolve) => input.once('open', resolve))
    await report({ kind: 'started', id: 1 })
    assert.equal((await text(input)).length, 1_000_000)
  })

  test('gets an order to end a program that is about to start after the order to start', async (t) => {
    const { link, orders } = scene(t)
    link.run(command).kill()
    await until(() => orders.length === 2)
    const found = orders.map(({ kind }) => kind)
    assert.deepEqual(found, ['start', 'kill'])
  })

  const lies: readonly (readonly [title: string, ...reports: readonly (object | string)[]])[] = [
    ['two starts of itself', { kind: 'ready' }, { kind: 'ready' }],
    ['two starts of a program', { kind: 'started', id: 1 }, { kind: 'started', id: 1 }],
    ['no JSON', 'x\n'],
    ['no object', '[]\n'],
    ['an exit with a code that is none', { ...exit, code: -1 }],
    ['an exit with a signal that is none', { ...exit, code: null, signal: 'rm -rf' }],
    ['an exit with both', { ...exit, signal: 'SIGKILL' }],
    ['an exit with neither', { ...exit, code: null }],
    ['an order', { kind: 'kill', id: 1 }],
    ['a program that is none', { ...exit, id: 2 }],
    ['a program by a text', { ...exit, id: '1' }],
    ['a failure without a reason', { kind: 'failed', id: 1 }],
    ['a line beyond all', 'x'.repeat(5000)],
  ]
  for (const [title, ...reports] of lies)
    test(`that reports ${title} has ended`, async (t) => {
      const { program, link, report, broken } = await started(t)
      await report(...reports, exit)
      assert.equal(broken.length, 1)
      assert.match((await program.exited).failure ?? '', /broke its protocol/)
      assert.notEqual((await link.run(command).exited).failure, undefined)
    })

  test('that reports two ends of a program has ended', async (t) => {
    const { report, broken } = await started(t)
    await report(exit, exit)
    assert.equal(broken.length, 1)
  })

  test('that does not read its orders has ended', async (t) => {
    const { link, broken } = scene(t, { isDeaf: true })
    for (let i = 0; i < 12; i++) link.run({ ...command, args: ['x'.repeat(4_000_000)] })
    await until(() => broken.length > 0)
    assert.deepEqual(broken, ['it does not read its orders'])
  })

  test('gives a reason in one short line', async (t) => {
    const { program, report } = await started(t)
    await report({ kind: 'failed', id: 1, why: `\u001b[31m\n${'x'.repeat(3000)}` })
    assert.match((await program.exited).failure ?? '', /^ \[31m x{100,500}$/)
  })

  test('that reports anything at all never throws', async (t) => {
    const kinds = fc.constantFrom('ready', 'started', 'exit', 'failed', 'x')
    const any = fc.record(
      { kind: kinds, id: fc.nat(3), code: fc.jsonValue(), signal: fc.jsonValue(), why: fc.jsonValue() },
      { requiredKeys: [] },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(any, { maxLength: 200 }), async (reports) => {
        const { link, report, orders } = scene(t)
        const programs = [link.run(command), link.run(command)]
        await until(() => orders.length >= 2)
        await report(...reports)
        link.end({ code: undefined, signal: undefined, failure: 'over' })
        for (const { stdout, stderr } of programs) for (const each of [stdout, stderr]) each.resume()
        await Promise.all(programs.map(({ exited }) => exited))
      }),
      { numRuns: numRuns(5) },
    )
  })

  test('is asked for no program that can be none, nor for too many', async (t) => {
    const { link } = scene(t)
    const found = (await link.run({ ...command, args: ['x'.repeat(5_000_000)] }).exited).failure ?? ''
    assert.match(found, /E2BIG/)
    for (let i = 0; i < 64; i++) link.run(command)
    assert.match((await link.run(command).exited).failure ?? '', /64 programs/)
  })
})
