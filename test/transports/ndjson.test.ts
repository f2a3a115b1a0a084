import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, Writable } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import { NdjsonConnection, type NdjsonOptions } from '../../src/transports/stdio/ndjson.js'
import { Recorder, holdsConnectionContract, message } from '../contracts/connection.js'

const options: NdjsonOptions = {
  lineBytesMax: 8 * 1024 * 1024,
  backlogBytesHigh: 1024 * 1024,
  closeWaitMs: 50,
}

holdsConnectionContract(
  'ndjson',
  () => {
    const [there, back] = [new PassThrough(), new PassThrough()]
    return {
      left: new NdjsonConnection(back, there, options),
      right: new NdjsonConnection(there, back, options),
    }
  },
  { taps: 'reads' },
)

function open(more: Partial<NdjsonOptions> = {}) {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const connection = new NdjsonConnection(input, output, { ...options, ...more })
  const recorder = new Recorder().watching()
  connection.start(recorder)
  return { input, output, connection, recorder }
}

function closeOf(stream: PassThrough): Promise<void> {
  return new Promise((resolve) => stream.once('close', resolve))
}

/** A program that talks on its pipes. It writes `ready` to stderr first. */
function child(script: string): {
  readonly child: ReturnType<typeof spawn>
  readonly connection: NdjsonConnection
  readonly recorder: Recorder
} {
  const program = spawn(process.execPath, ['-e', script], { stdio: ['pipe', 'pipe', 'inherit'] })
  const { stdin, stdout } = program
  assert.ok(stdin !== null && stdout !== null)
  const recorder = new Recorder().watching()
  const connection = new NdjsonConnection(stdout, stdin, { ...options, closeWaitMs: 10_000 })
  connection.start(recorder)
  return { child: program, connection, recorder }
}

test('what one turn says leaves in one write', async () => {
  const writes: string[] = []
  const output = new Writable({
    write(chunk: Buffer, _encoding, done) {
      writes.push(chunk.toString())
      done()
    },
  })
  const connection = new NdjsonConnection(new PassThrough(), output, options)
  connection.start(new Recorder())
  connection.send(message('1'))
  connection.send(message('22'))
  assert.deepEqual(writes, [])
  await turn()
  connection.send(message('333'))
  await turn()
  assert.deepEqual(writes, ['1\n22\n', '333\n'])
  await connection.close()
})

test('large messages of one turn leave together, uncopied', async () => {
  const batches: number[] = []
  const output = new Writable({
    writev(chunks, done) {
      batches.push(chunks.length)
      done()
    },
  })
  const connection = new NdjsonConnection(new PassThrough(), output, options)
  connection.start(new Recorder())
  for (let i = 0; i < 3; i++) connection.send(message(`"${'x'.repeat(50_000)}"`))
  await turn()
  assert.deepEqual(batches, [3])
  await connection.close()
})

test('the tap sees exactly the bytes, in both directions', async () => {
  const { input, output, connection, recorder } = open()
  input.write('{"a":1}\r\n\n{"b"')
  input.write(':2}\njunk\n')
  await recorder.seen('message', 3)
  connection.send(message('{"c":3}'))
  await turn()
  assert.equal(Buffer.concat(recorder.wired.in).toString(), '{"a":1}\r\n\n{"b":2}\njunk\n')
  assert.equal(Buffer.concat(recorder.wired.out).toString(), '{"c":3}\n')
  assert.equal(String(output.read()), '{"c":3}\n')
  assert.deepEqual(recorder.events, ['message {"a":1}', 'message {"b":2}', 'message junk'])
})

test('a line over the limit is skipped, and what follows arrives', async () => {
  const { input, recorder } = open({ lineBytesMax: 100 })
  input.write(`{"id":5,"result":"${'x'.repeat(100)}"}\n{"ok":1}\n`)
  await recorder.seen('message')
  assert.deepEqual(recorder.events, ['oversize 5 120 false', 'message {"ok":1}'])
})

test('half close: the other end has finished and can still be answered', async () => {
  const { input, output, connection, recorder } = open()
  input.end('{"last":1}')
  await recorder.seen('ended')
  assert.deepEqual(recorder.events, ['message {"last":1}', 'ended'])
  connection.send(message('{"answer":1}'))
  await connection.close()
  assert.equal(String(output.read()), '{"answer":1}\n')
  assert.deepEqual(recorder.events.at(-1), 'closed undefined')
})

test('a failing input ends the connection with its reason', async () => {
  const { input, output, recorder } = open()
  input.destroy(new Error('read failed'))
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['closed TRANSPORT_IO'])
  assert.equal(output.destroyed, true)
})

test('an input that is taken away without an error ends the connection', async () => {
  const { input, recorder } = open()
  input.destroy()
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['closed undefined'])
})

test('when the output fails, what the other end wrote before still arrives', async () => {
  const { input, output, connection, recorder } = open({ closeWaitMs: 60_000 })
  input.pause()
  input.write('{"last":"answer"}\n')
  output.destroy(new Error('EPIPE'))
  await closeOf(output)
  connection.send(message('1'))
  await turn()
  assert.equal(connection.backlogBytes, 0, 'what cannot be sent is not kept')
  input.end('{"very":"last"}\n')
  connection.read(true)
  await recorder.seen('closed')
  const found = recorder.events
  assert.deepEqual(found, ['message {"last":"answer"}', 'message {"very":"last"}', 'closed TRANSPORT_IO'])
})

test('when the output fails and the other end says nothing more, the connection ends all the same', async () => {
  const { output, recorder } = open({ closeWaitMs: 1 })
  output.destroy(new Error('EPIPE'))
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['closed TRANSPORT_IO'])
})

test('an end that was half closed ends when its output goes, too', async () => {
  const { input, output, recorder } = open({ closeWaitMs: 60_000 })
  input.end()
  await recorder.seen('ended')
  output.destroy()
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['ended', 'closed undefined'])
})

test('a failure before the start is reported after it', async () => {
  const [input, output] = [new PassThrough(), new PassThrough()]
  const connection = new NdjsonConnection(input, output, options)
  input.destroy(new Error('no such program'))
  await closeOf(input)
  const recorder = new Recorder()
  connection.start(recorder)
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['closed TRANSPORT_IO'])
})

test('an end before the start is reported after it, behind the lines that were read before', async () => {
  for (const words of ['', '{"last":1}']) {
    const [input, output] = [new PassThrough(), new PassThrough()]
    input.once('readable', () => {
      const bytes: unknown = input.read()
      if (Buffer.isBuffer(bytes)) input.unshift(bytes)
    })
    input.end(words)
    await turn()
    assert.equal(input.readableEnded, words === '')
    const connection = new NdjsonConnection(input, output, options)
    const recorder = new Recorder()
    connection.start(recorder)
    await recorder.seen('ended')
    connection.send(message('{"answer":1}'))
    await connection.close()
    assert.equal(String(output.read()), '{"answer":1}\n')
    const before = words === '' ? [] : [`message ${words}`]
    assert.deepEqual(recorder.events, [...before, 'ended', 'closed undefined'])
  }
})

test('an unreported failure is reported at the start', async () => {
  const input = new PassThrough()
  input.on('error', () => undefined)
  input.destroy(new Error('read failed'))
  await closeOf(input)
  const recorder = new Recorder()
  new NdjsonConnection(input, new PassThrough(), options).start(recorder)
  await recorder.seen('closed')
  assert.deepEqual(recorder.events, ['closed TRANSPORT_IO'])
})

test('a connection that one message ends delivers no other of the same chunk', async () => {
  const [input, recorder] = [new PassThrough(), new Recorder()]
  const connection = new NdjsonConnection(input, new PassThrough(), { ...options, lineBytesMax: 10 })
  recorder.wire = (direction) => {
    if (direction === 'out') throw new Error('disk full')
  }
  recorder.on = (event) => {
    if (event !== 'message 1') return
    connection.send(message('"answer"'))
    void connection.close()
  }
  connection.start(recorder)
  input.write('1\n2\n"longer than ten"\n3\n')
  await recorder.seen('closed')
  await turn()
  assert.deepEqual(recorder.events, ['message 1', 'closed TRANSPORT_TAP'])
})

test('close waits for a reader that is slow, but not for ever', async () => {
  const { output, connection, recorder } = open({ closeWaitMs: 10 })
  for (let i = 0; i < 20; i++) connection.send(message(`"${'x'.repeat(100_000)}"`))
  await connection.close()
  assert.deepEqual(recorder.events, ['closed undefined'])
  assert.equal(output.destroyed, true)
})

function timers(): number {
  return process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
}

test('close leaves no timer behind', async () => {
  const before = timers()
  const { output, connection } = open({ closeWaitMs: 60_000 })
  connection.send(message('1'))
  output.resume()
  await connection.close()
  assert.equal(timers(), before)
})

test("over a child's pipes: an echo of megabytes, both ways at once", async () => {
  const { child: program, connection, recorder } = child('process.stdin.pipe(process.stdout)')
  const big = `"${'x'.repeat(3_000_000)}"`
  const texts = ['{"a":1}', big, '{"b":2}', big]
  for (const text of texts) connection.send(message(text))
  await recorder.seen('message', texts.length)
  const arrived = recorder.events.filter((event) => event !== 'drained')
  assert.ok(arrived.join('\n') === texts.map((text) => `message ${text}`).join('\n'))
  assert.equal(Buffer.concat(recorder.wired.in).compare(Buffer.concat(recorder.wired.out)), 0)
  await Promise.all([connection.close(), once(program, 'exit')])
})

test("over a child's pipes: the answer of a child that then died arrives, though we were still writing", async () => {
  const dies = `process.stdin.destroy(); process.stdout.write('{"answer":1}\\n', () => process.exit(3))`
  const { child: program, connection, recorder } = child(dies)
  const writing = setInterval(() => connection.send(message('"more"')), 1)
  await recorder.seen('closed')
  clearInterval(writing)
  assert.equal(recorder.events[0], 'message {"answer":1}')
  if (program.exitCode === null) await once(program, 'exit')
})
