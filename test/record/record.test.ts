import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { fileURLToPath } from 'node:url'
import { ConfigError } from '../../src/config/problems.js'
import { TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import type { WireEvent } from '../../src/jsonrpc/wire-tap.js'
import { Recorder, RecordStream, openRecord } from '../../src/record/record.js'
import { itEcho } from '../integration/support/programs.js'
import { spawnProxy } from '../integration/support/spawned.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-record-test-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

let files = 0
const newFile = (): string => join(folder, `${(files += 1)}.jsonl`)

const client = {
  hop: 'client',
  service: undefined,
  schema: 'default',
  connection: 1,
  direction: 'in',
  whole: false,
} as const

function event(bytes: string | Uint8Array, more: Partial<WireEvent> = {}): WireEvent {
  return { ...client, at: 1.204, bytes: Buffer.from(bytes), ...more }
}

/** The lines after the header, for these events. */
async function recorded(events: readonly WireEvent[]): Promise<string[]> {
  const file = newFile()
  const record = await openRecord(file, { command: 'test' })
  for (const each of events) record.wire(each)
  await record.close()
  return linesOf(file).slice(1)
}

function linesOf(file: string): string[] {
  return readFileSync(file, 'utf8').split('\n').slice(0, -1)
}

/** The bytes that a line of a recording stands for. */
function bytesIn(line: string): Buffer {
  const value: unknown = JSON.parse(line)
  const { junk64, eol } = Object(value)
  if (typeof junk64 === 'string') return Buffer.from(junk64, 'base64')
  const frame = /"frame":(.*?)(?:,"eol":"[^"]*")?\}$/s.exec(line)?.[1] ?? ''
  return Buffer.from(frame + (typeof eol === 'string' ? eol : '\n'))
}

describe('a file that exists', () => {
  it('is refused, and the command starts nothing', async (t) => {
    const file = newFile()
    writeFileSync(file, '{"mcpServers":{}}')
    await assert.rejects(openRecord(file, { command: 'test' }), (error) => {
      return (
        error instanceof ConfigError &&
        /exists already; name another file, or add --force/.test(error.message)
      )
    })
    const refused = spawnProxy(t, { s: itEcho() }, { args: ['--record', file] })
    assert.equal(await refused.exited, 2)
    assert.match(refused.stderr, /exists already/)
    assert.equal(readFileSync(file, 'utf8'), '{"mcpServers":{}}')
  })

  it('is replaced with --force, and private', async (t) => {
    const file = newFile()
    writeFileSync(file, 'something else', { mode: 0o644 })
    const proxy = spawnProxy(t, { s: itEcho() }, { args: ['--record', file, '--force'] })
    await proxy.client.open()
    assert.equal(await proxy.finish(), 0)
    assert.match(linesOf(file)[0] ?? '', /^\{"mcps":1,"recorded":true/)
    assert.equal(statSync(file).mode & 0o777, 0o600)
  })
})

describe('the lines of a recording', () => {
  const head = '{"t":0.001204,"hop":"client","conn":1,"dir":"in",'
  const cases: readonly [string, string | Uint8Array, readonly string[]][] = [
    ['a frame keeps its bytes', '{"n":1.0, "a":"\\u0061"}\n', [`${head}"frame":{"n":1.0, "a":"\\u0061"}}`]],
    ['two frames are two lines', '{}\n[1]\n', [`${head}"frame":{}}`, `${head}"frame":[1]}`]],
    ['a carriage return at the end is told', '{}\r\n', [`${head}"frame":{},"eol":"\\r\\n"}`]],
    ['a line that does not end is told', '{}', [`${head}"frame":{},"eol":""}`]],
    ['what is no JSON', 'Loading...\n', [`${head}"junk64":"TG9hZGluZy4uLgo="}`]],
    ['a carriage return within', '{\r}\n', [`${head}"junk64":"ew19Cg=="}`]],
    ['a blank line', '\n', [`${head}"junk64":"Cg=="}`]],
    ['what is no UTF-8', Uint8Array.of(0x22, 0xff, 0x22, 0x0a), [`${head}"junk64":"Iv8iCg=="}`]],
    ['a surrogate alone is JSON', '"\\ud800"\n', [`${head}"frame":"\\ud800"}`]],
  ]
  for (const [title, bytes, want] of cases)
    it(title, async () => assert.deepEqual(await recorded([event(bytes)]), want))

  const whole: readonly [string, string | Uint8Array, string][] = [
    ['keeps its bytes', '{"n":1.0, "a":"\\u0061"}\n', `${head}"frame":{"n":1.0, "a":"\\u0061"}}`],
    ['may have no line feed behind it', '{}', `${head}"frame":{}}`],
    [
      'is one line, whatever breaks it has',
      '{\r\n "é":\r1\n}\n',
      `${head}"whole":true,"text":"{\\r\\n \\"é\\":\\r1\\n}"}`,
    ],
    ['keeps a line feed of its own', '{}\n\n', `${head}"whole":true,"text":"{}\\n"}`],
    ['is base64 where it is no JSON', 'a\nb\n', `${head}"whole":true,"junk64":"YQpi"}`],
    [
      'is base64 where it is no UTF-8',
      Uint8Array.of(0x22, 0xff, 0x22),
      `${head}"whole":true,"junk64":"Iv8i"}`,
    ],
    ['may be empty', '', `${head}"whole":true,"junk64":""}`],
  ]
  for (const [title, bytes, want] of whole)
    it(`a message that came whole ${title}`, async () =>
      assert.deepEqual(await recorded([event(bytes, { whole: true })]), [want]))

  it('a large message with line breaks is base64', async () => {
    const text = `{"a":\n"${'x'.repeat(3_000_000)}"}`
    const [line = ''] = await recorded([event(text, { whole: true })])
    assert.match(line.slice(0, 100), /"whole":true,"junk64":"/)
    assert.equal(bytesIn(line).toString(), text)
  })

  it('names the schema where it is not the default, and the service of an upstream hop', async () => {
    const upstream = { hop: 'upstream', service: 'a "b"', connection: 2, direction: 'out' } as const
    const lines = await recorded([event('{}\n', { schema: 'b"c' }), event('{}\n', upstream)])
    assert.match(lines[0] ?? '', /^\{"t":0\.001204,"hop":"client","schema":"b\\"c","conn":1,/)
    assert.match(
      lines[1] ?? '',
      /^\{"t":0\.001204,"hop":"upstream","service":"a \\"b\\"","conn":2,"dir":"out",/,
    )
  })

  it('puts frames together per connection and direction', async () => {
    const lines = await recorded([
      event('{"a":'),
      event('{"b":', { direction: 'out' }),
      event('{"c":', { connection: 2 }),
      event('3}\n', { connection: 2 }),
      event('2}\n', { direction: 'out' }),
      event('1}\n'),
    ])
    const texts = lines.map((line) => bytesIn(line).toString())
    assert.deepEqual(texts, ['{"c":3}\n', '{"b":2}\n', '{"a":1}\n'])
  })

  it('gives back every byte, however it was cut', async () => {
    const all = Buffer.from('{"a":1}\nno json\n\n{"b":"é"}\r\n{"c":\r1}\n[{}]\n{"unfinished')
    for (const size of [1, 2, 3, 7, 65_536]) {
      const events: WireEvent[] = []
      for (let at = 0; at < all.length; at += size) events.push(event(all.subarray(at, at + size)))
      const lines = await recorded(events)
      assert.deepEqual(Buffer.concat(lines.map(bytesIn)), all, `in pieces of ${size}`)
    }
  })

  it('writes a line over the limit in pieces', () => {
    const lines: string[] = []
    const stream = new RecordStream(event(''), (line) => lines.push(Buffer.concat(line).toString()), 8)
    for (const piece of ['{"a":"bb', 'bbbbbbbbbb', 'b"}\n']) stream.push(Buffer.from(piece), 0)
    assert.equal(lines.length, 2)
    assert.equal(Buffer.concat(lines.map(bytesIn)).toString(), '{"a":"bbbbbbbbbbbbb"}\n')
  })

  it('keeps what it holds when the chunk is used again', async () => {
    const file = newFile()
    const record = await openRecord(file, { command: 'test' })
    const chunk = Buffer.from('{"a":1')
    record.wire(event('', { bytes: chunk }))
    chunk.fill('x')
    record.wire(event('}\n'))
    await record.close()
    assert.equal(linesOf(file)[1], `${head}"frame":{"a":1}}`)
  })
})

describe('the file of a recording', () => {
  it('begins with a header and is private', async () => {
    const file = newFile()
    await (await openRecord(file, { command: 'mcps-proxy --stdio', args: ['--stdio'] })).close()
    const header: unknown = JSON.parse(linesOf(file)[0] ?? '')
    const { mcps, recorded: isRecorded, command, args } = Object(header)
    assert.deepEqual([mcps, isRecorded, command, args], [1, true, 'mcps-proxy --stdio', ['--stdio']])
    assert.equal(statSync(file).mode & 0o777, 0o600)
  })

  it('says why it cannot be opened', async () => {
    const missing = join(folder, 'no', 'such', 'folder.jsonl')
    await assert.rejects(openRecord(missing, { command: 'test' }), /--record:\n.*folder\.jsonl.*ENOENT/)
    await assert.rejects(openRecord(folder, { command: 'test' }), /exists already/)
  })

  it(
    'says once when the disk is full, and refuses everything after it',
    { skip: !existsSync('/dev/full') },
    async () => {
      const failures: string[] = []
      const record = new Recorder('f.jsonl', await open('/dev/full', 'a'), ({ message }) =>
        failures.push(message),
      )
      for (let at = 0; at < 2; at++)
        assert.throws(() => record.wire(event('{}\n')), /cannot record to f\.jsonl: ENOSPC/)
      await assert.rejects(record.close(), TransportError)
      assert.equal(failures.length, 1)
      assert.match(failures.join(), /ENOSPC/)
    },
  )

  it('says that it was removed', async () => {
    const file = newFile()
    const record = await openRecord(file, { command: 'test' })
    rmSync(file)
    assert.throws(() => record.wire(event('{}\n')), /the file was removed/)
    await assert.rejects(record.close(), /the file was removed/)
  })

  it('takes a message of 64 MiB without a copy of it in memory', () => {
    const file = newFile()
    const module = fileURLToPath(new URL('../../src/record/record.js', import.meta.url))
    const script = `import { openRecord } from ${JSON.stringify(module)}
      const size = 64 * 1024 * 1024
      const record = await openRecord(${JSON.stringify(file)}, { command: 'test' })
      const bytes = Buffer.alloc(size, 'x')
      bytes.write('{"a":"')
      bytes.write('"}', size - 2)
      const before = process.resourceUsage().maxRSS
      record.wire({ hop: 'client', schema: 'default', connection: 1, direction: 'in', at: 0, whole: true, bytes })
      await record.close()
      console.log(Math.round((process.resourceUsage().maxRSS - before) / 1024))`
    const { status, stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script])
    assert.equal(status, 0, String(stderr))
    assert(Number(stdout) < 30, `${String(stdout)} MiB more`)
    assert.equal(statSync(file).size > 64 * 1024 * 1024, true)
    rmSync(file)
  })

  it('has every line, also when the process is killed', () => {
    const file = newFile()
    const module = fileURLToPath(new URL('../../src/record/record.js', import.meta.url))
    const script = `import { openRecord } from ${JSON.stringify(module)}
      const record = await openRecord(${JSON.stringify(file)}, { command: 'test' })
      record.wire({ hop: 'client', schema: 'default', connection: 1, direction: 'in', whole: false, at: 0, bytes: Buffer.from('{}\\n') })
      process.kill(process.pid, 'SIGKILL')`
    const { signal, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script])
    assert.equal(signal, 'SIGKILL', String(stderr))
    assert.equal(linesOf(file).length, 2)
  })
})
