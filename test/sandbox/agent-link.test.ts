// The service's side of the connection to an agent that may be anybody.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setImmediate as turn } from 'node:timers/promises'
import { describe, test } from 'node:test'
import * as fc from 'fast-check'
import {
  AgentFrameReader,
  CHANNEL_WINDOW,
  FRAME_BYTES_MAX,
  agentOrders,
  agentReports,
  connectionReports,
  decodeTexts,
  encodeFrame,
  encodeTexts,
  frameCost,
} from '../../src/sandbox/frames.js'
import { AgentLink } from '../../src/sandbox/runtimes/bubblewrap/agent-link.js'
import type { AcceptConnection } from '../../src/sandbox/runtimes/bubblewrap/channels.js'
import { numRuns } from '../properties/runs.js'

interface Scene {
  readonly link: AgentLink
  /** Writes as the agent does. */
  readonly say: (...frames: readonly Buffer[]) => Promise<void>
  /** What the agent was told. */
  readonly heard: { readonly kind: number; readonly channel: number; readonly payload: Buffer }[]
  readonly broken: string[]
}

function scene(connected?: AcceptConnection, { isDeaf = false } = {}): Scene {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const broken: string[] = []
  const heard: Scene['heard'] = []
  const reader = new AgentFrameReader(1 << 30)
  if (!isDeaf) input.on('data', (chunk: Buffer) => heard.push(...(reader.push(chunk) ?? [])))
  const link = new AgentLink(
    { input, output },
    {
      ready: () => undefined,
      broken: (how) => broken.push(how),
      explain: (_program, exit) => exit,
      connected,
    },
  )
  const say = async (...frames: readonly Buffer[]): Promise<void> => {
    if (!output.destroyed) output.write(Buffer.concat(frames))
    await turn()
    await turn()
  }
  return { link, say, heard, broken }
}

const command = { program: 'p', args: ['a', ''], env: { A: '1=2', B: '' } }
const open = (channel: number): Buffer => encodeFrame(connectionReports.open, channel)
const sent = (channel: number, bytes: number): Buffer =>
  encodeFrame(connectionReports.sent, channel, Buffer.alloc(bytes))
const exited = (...texts: readonly string[]): Buffer => encodeFrame(agentReports.exit, 1, encodeTexts(texts))

describe('frames', () => {
  test('come whole however they are cut', () => {
    fc.assert(
      fc.property(
        fc.array(fc.tuple(fc.nat(255), fc.nat(0xffff_ffff), fc.uint8Array({ maxLength: 300 }))),
        fc.integer({ min: 1, max: 500 }),
        (frames, size) => {
          const bytes = Buffer.concat(
            frames.map(([kind, channel, payload]) => encodeFrame(kind, channel, payload)),
          )
          const reader = new AgentFrameReader(300)
          const read = []
          for (let at = 0; at < bytes.length; at += size)
            read.push(...(reader.push(Buffer.from(bytes.subarray(at, at + size))) ?? []))
          assert.deepEqual(
            read.map(({ kind, channel, payload }) => [kind, channel, [...payload]]),
            frames.map(([kind, channel, payload]) => [kind, channel, [...payload]]),
          )
        },
      ),
      { numRuns: numRuns(200) },
    )
  })

  test('longer than allowed are none', () => {
    const reader = new AgentFrameReader(10)
    assert.equal(reader.push(encodeFrame(1, 1, Buffer.alloc(10)))?.length, 1)
    assert.equal(reader.push(encodeFrame(1, 1, Buffer.alloc(11))), undefined)
  })

  test('of texts give the texts back, and nothing for anything else', () => {
    const texts = ['', 'a\0b', 'ä\n', 'x'.repeat(1000)]
    assert.deepEqual(decodeTexts(encodeTexts(texts)), texts)
    for (const bytes of [[0], [0, 0, 0], [0, 0, 0, 2, 65], [255, 255, 255, 255]])
      assert.equal(decodeTexts(Buffer.from(bytes)), undefined)
  })
})

describe('what nobody reads', () => {
  // A7: credit was given for what a stream had buffered, and small payloads held the reads that they came in.
  test('earns an agent no credit beyond its window, however small the frames are', async () => {
    const { link, say, broken } = scene()
    const program = link.run(command)
    program.stdout.pause()
    const tiny = encodeFrame(agentReports.output, 1, Buffer.from('x'))
    const allowed = Math.floor(CHANNEL_WINDOW / frameCost(1))
    for (let sent = 0; sent < 2 * allowed && broken.length === 0; sent += 100)
      await say(Buffer.concat(Array.from({ length: 100 }, () => tiny)))
    assert.equal(broken.length, 1, 'more than its window')
  })
})

describe('an agent', () => {
  test('is told what to start, and tells what it wrote and how it ended', async () => {
    const { link, say, heard } = scene()
    const program = link.run(command)
    await say(
      encodeFrame(agentReports.output, 1, Buffer.from('out')),
      encodeFrame(agentReports.errors, 1, Buffer.from('err')),
      exited('3', '', ''),
    )
    assert.deepEqual(decodeTexts(heard[0]?.payload ?? Buffer.alloc(0)), ['p', '2', 'a', '', 'A=1=2', 'B='])
    assert.deepEqual(await Promise.all([text(program.stdout), text(program.stderr)]), ['out', 'err'])
    assert.deepEqual(await program.exited, { code: 3, signal: undefined })
  })

  test('may send as much as the window, and more when that was read', async () => {
    const { link, say, heard, broken } = scene()
    const program = link.run(command)
    const frames = Math.floor(CHANNEL_WINDOW / frameCost(1000))
    await say(
      ...Array.from({ length: frames }, () => encodeFrame(agentReports.output, 1, Buffer.alloc(1000))),
    )
    assert.deepEqual(broken, [])
    assert(program.stdout.readableLength <= FRAME_BYTES_MAX + 1000)
    program.stdout.resume()
    await turn()
    await turn()
    const taken = heard.filter(({ kind }) => kind === agentOrders.taken)
    assert.notEqual(taken.length, 0)
    await say(
      ...Array.from({ length: frames / 2 }, () => encodeFrame(agentReports.output, 1, Buffer.alloc(1000))),
    )
    assert.deepEqual(broken, [])
  })

  test('that sends one frame more than the window has ended', async () => {
    const { link, say, broken } = scene()
    const program = link.run(command)
    const frames = Math.floor(CHANNEL_WINDOW / frameCost(1)) + 1
    await say(
      ...Array.from({ length: frames * 2 }, () => encodeFrame(agentReports.output, 1, Buffer.alloc(1))),
    )
    assert.equal(broken.length, 1)
    assert.match((await program.exited).failure ?? '', /broke its protocol/)
  })

  test('gets as much input as the window, and more when that was taken', async () => {
    const { link, say, heard } = scene()
    const program = link.run(command)
    program.stdin.end(Buffer.alloc(10 * CHANNEL_WINDOW))
    await turn()
    const sentBytes = (): number =>
      heard
        .filter(({ kind }) => kind === agentOrders.input)
        .reduce((sum, { payload }) => sum + frameCost(payload.length), 0)
    assert(sentBytes() <= CHANNEL_WINDOW && sentBytes() > CHANNEL_WINDOW - frameCost(FRAME_BYTES_MAX))
    while (!heard.some(({ kind }) => kind === agentOrders.inputEnd)) {
      const before = sentBytes()
      const cost = Buffer.alloc(4)
      cost.writeUInt32BE(frameCost(FRAME_BYTES_MAX))
      await say(encodeFrame(agentReports.inputTaken, 1, cost))
      assert(sentBytes() - before <= frameCost(FRAME_BYTES_MAX))
    }
    assert.equal(heard.filter(({ kind }) => kind === agentOrders.input).length, 40)
  })

  const lies: readonly (readonly [title: string, frame: Buffer])[] = [
    ['an end without texts', encodeFrame(agentReports.exit, 1, Buffer.from('x'))],
    ['an end with a code that is none', exited('-1', '', '')],
    ['an end with a signal that is none', exited('', 'rm -rf', '')],
    ['an end with both', exited('1', 'SIGKILL', '')],
    ['an end with more texts', exited('1', '', '', '')],
    ['an order', encodeFrame(agentOrders.kill, 1)],
    ['a channel that is none', encodeFrame(agentReports.output, 2, Buffer.from('x'))],
    ['a second readiness of a channel', encodeFrame(agentReports.ready, 1)],
    ['an empty output', encodeFrame(agentReports.output, 1)],
    [
      'that it has taken what it was not given',
      encodeFrame(agentReports.inputTaken, 1, Buffer.from([0, 0, 1, 0])),
    ],
    ['that it has taken nothing', encodeFrame(agentReports.inputTaken, 1, Buffer.alloc(4))],
    ['a length beyond all', Buffer.from([255, 255, 255, 255, 17, 0, 0, 0, 1])],
  ]
  for (const [title, frame] of lies) {
    test(`that says ${title} has ended`, async () => {
      const { link, say, broken } = scene()
      const program = link.run(command)
      await say(frame, exited('0', '', ''))
      assert.equal(broken.length, 1)
      assert.notEqual((await program.exited).failure, undefined)
      assert.notEqual((await link.run(command).exited).failure, undefined)
    })
  }

  const forged: readonly (readonly [title: string, frames: readonly Buffer[]])[] = [
    ['opens more connections than there may be', Array.from({ length: 65 }, (_, channel) => open(channel))],
    ['opens a connection twice', [open(1), open(1)]],
    ['sends on a connection that is none', [sent(9, 1)]],
    ['sends more than was taken', [open(1), ...Array.from({ length: 10 }, () => sent(1, 60_000))]],
    [
      'has taken of a connection what it was not given',
      [open(1), encodeFrame(connectionReports.delivered, 1, Buffer.from([0, 0, 1, 0]))],
    ],
    [
      'goes on after the end of a connection',
      [open(1), encodeFrame(connectionReports.sentEnd, 1), sent(1, 1)],
    ],
  ]
  for (const [title, frames] of forged) {
    test(`that ${title} has ended`, async () => {
      const { say, broken } = scene(() => undefined)
      await say(...frames)
      await turn()
      assert.equal(broken.length, 1)
    })
  }

  test('that opens connections without end has 64 of them accepted a turn, and is not read meanwhile', async () => {
    const accepted: unknown[] = []
    const { link, say, broken } = scene((connection) => accepted.push(connection))
    const program = link.run(command)
    const pairs = Array.from({ length: 1000 }, (_, channel) => [
      encodeFrame(connectionReports.open, channel),
      encodeFrame(connectionReports.gone, channel),
    ])
    const acceptedBefore = program.exited.then(() => accepted.length)
    const said = say(...pairs.flat()).then(() => say(exited('0', '', '')))
    const ofTurns = [accepted.length]
    for (let before = accepted.length; accepted.length < 1000; before = accepted.length) {
      await turn()
      ofTurns.push(accepted.length - before)
    }
    await said
    assert.equal(Math.max(...ofTurns), 64)
    assert.equal(await acceptedBefore, 1000)
    assert.deepEqual(broken, [])
  })

  for (const isDeaf of [true, false])
    test(`that opens connections without end ${isDeaf ? 'and reads nothing has ended' : 'and reads goes on'}`, async () => {
      const answer = Buffer.alloc(FRAME_BYTES_MAX)
      let accepted = 0
      const { say, broken } = scene(
        ({ output }) => {
          accepted++
          output.write(answer)
        },
        { isDeaf },
      )
      for (let channel = 0; channel < 1024; channel++)
        await say(encodeFrame(connectionReports.open, channel), encodeFrame(connectionReports.gone, channel))
      assert.deepEqual(broken, isDeaf ? ['it does not read what it is told'] : [])
      assert.equal(accepted, isDeaf ? 510 : 1024)
    })

  test('gives a reason in one short line', async () => {
    const { link, say } = scene()
    const program = link.run(command)
    await say(exited('', '', `\u001b[31m\n${'x'.repeat(10_000)}`))
    const { failure } = await program.exited
    assert.match(failure ?? '', /^ \[31m x{100,500}$/)
  })

  test('that sends anything at all never throws, and never gets past its windows', async () => {
    const kinds = fc.oneof(fc.constantFrom(...Object.values(agentReports)), fc.nat(255))
    const frame = fc.tuple(kinds, fc.nat(3), fc.uint8Array({ maxLength: 40 }))
    await fc.assert(
      fc.asyncProperty(fc.array(frame, { maxLength: 1000 }), async (frames) => {
        const { link, say } = scene()
        const programs = [link.run(command), link.run(command)]
        await say(...frames.map(([kind, channel, payload]) => encodeFrame(kind, channel, payload)))
        for (const { stdout } of programs) assert(stdout.readableLength <= CHANNEL_WINDOW)
        link.end({ code: undefined, signal: undefined, failure: 'over' })
        await Promise.all(programs.map(({ exited: end }) => end))
      }),
      { numRuns: numRuns(300) },
    )
  })

  test('refuses what can be no program', async () => {
    const { link } = scene()
    assert.match(
      (await link.run({ ...command, args: ['x'.repeat(5_000_000)] }).exited).failure ?? '',
      /E2BIG/,
    )
    assert.match((await link.run({ ...command, env: { 'A=B': '' } }).exited).failure ?? '', /A=B/)
    for (let i = 0; i < 64; i++) link.run(command)
    assert.match((await link.run(command).exited).failure ?? '', /64 programs/)
  })
})
