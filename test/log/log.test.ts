import { strict as assert } from 'node:assert'
import { execFileSync } from 'node:child_process'
import {
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { escapeText } from '../../src/text/escape.js'
import { noPaint, paintFor } from '../../src/log/lines.js'
import { Logger } from '../../src/log/log.js'
import type { LogLevel, LogRecord } from '../../src/runtime/runtime.js'
import type { LoggerOptions, LogStream } from '../../src/log/log.js'

const folder = mkdtempSync(join(tmpdir(), 'mcps-log-'))
after(() => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))

const time = new Date('2026-11-21T10:20:30.456Z')

class Memory implements LogStream {
  text = ''
  writableLength = 0
  write(text: string, written?: () => void): boolean {
    this.text += text
    written?.()
    return true
  }
}

function logger(stream: LogStream | undefined, more: Partial<LoggerOptions> = {}): Logger {
  const console = stream && { stream, format: 'json' as const }
  return new Logger({ level: 'debug', console, now: () => time, ...more })
}

function logged(record: LogRecord, secrets: string[] = []): Record<string, unknown> {
  const stream = new Memory()
  const log = logger(stream)
  log.addSecrets(secrets)
  log.sink(record)
  assert.equal(stream.text.split('\n').length, 2, 'exactly one line')
  return JSON.parse(stream.text)
}

function readable(record: LogRecord, more: Partial<LoggerOptions> = {}): string {
  const stream = new Memory()
  logger(stream, { console: { stream, format: 'readable' }, ...more }).sink(record)
  return stream.text
}

const info = (message: string, details?: Readonly<Record<string, unknown>>): LogRecord => ({
  level: 'info',
  message,
  ...(details === undefined ? {} : { details }),
})

describe('a line', () => {
  test('as JSON has time, level, service, message and details', () => {
    const record = { level: 'warn', service: 'Time', message: 'm', details: { code: 1 } } as const
    assert.deepEqual(logged(record), {
      time: '2026-11-21T10:20:30.456Z',
      level: 'warn',
      service: 'Time',
      message: 'm',
      details: { code: 1 },
    })
  })

  test('for a person names the service', () => {
    const record = {
      level: 'warn',
      service: 'Time',
      message: 'gone',
      details: { code: 1, why: 'x y' },
    } as const
    assert.equal(readable(record), '10:20:30.456 WARN  [Time] gone  code=1  why=x y\n')
    assert.equal(readable(info('plain')), '10:20:30.456 INFO  plain\n')
  })

  const levels: [LogLevel, number][] = [
    ['error', 1],
    ['warn', 2],
    ['info', 3],
    ['debug', 4],
  ]
  for (const [level, count] of levels)
    test(`at level ${level} comes for ${count} of four records`, () => {
      const stream = new Memory()
      const log = logger(stream, { level })
      for (const [each] of levels) log.sink({ level: each, message: 'm' })
      assert.equal(stream.text.split('\n').length - 1, count)
    })

  test('may be for the file only', async () => {
    const stream = new Memory()
    const path = join(folder, 'quiet.log')
    const log = logger(stream, {
      console: { stream, format: 'json', level: 'error' },
      file: { path, maxSizeBytes: 4096, maxFiles: 2 },
    })
    log.sink(info('for the file'))
    await log.close()
    assert.equal(stream.text, '')
    assert.match(readFileSync(path, 'utf8'), /for the file/)
  })
})

describe('colours', () => {
  const cases: [string, boolean, Record<string, string>, boolean][] = [
    ['a terminal', true, {}, true],
    ['a pipe', false, {}, false],
    ['NO_COLOR', true, { NO_COLOR: '1' }, false],
    ['an empty NO_COLOR', true, { NO_COLOR: '' }, true],
    ['a dumb terminal', true, { TERM: 'dumb' }, false],
  ]
  for (const [title, isTerminal, env, want] of cases)
    test(title, async () => assert.equal((await paintFor(isTerminal, env)) !== noPaint, want))
})

test('a record of a server is without what the server was given or has handed out, and those of others keep their words', () => {
  const stream = new Memory()
  const log = logger(stream)
  log.learnSecrets(['access-token'], 's')
  for (const service of ['s', 'other']) log.sink({ level: 'warn', service, message: 'bad access-token' })
  const messages = stream.text
    .trim()
    .split('\n')
    .map((line): unknown => JSON.parse(line).message)
  assert.deepEqual(messages, ['bad [redacted]', 'bad access-token'])
})

describe('text of strangers', () => {
  const cases: [string, string, string][] = [
    ['line ends', 'a\r\nb', String.raw`a\r\nb`],
    ['a terminal command', 'a\u001b[2Jb', String.raw`a\u001b[2Jb`],
    ['C1', 'a\u009b2Jb', String.raw`a\u009b2Jb`],
    ['DEL and NUL', '\u007f\0', String.raw`\u007f\u0000`],
    ['bidirectional controls', '\u202eabc\u2066\u200f', String.raw`\u202eabc\u2066\u200f`],
    ['line separators', '\u2028\u2029', String.raw`\u2028\u2029`],
    ['invisible tags', '\u{e0041}', String.raw`\udb40\udc41`],
    ['ordinary text', 'Grüße, 世界 👋🏽 a\\b', 'Grüße, 世界 👋🏽 a\\b'],
  ]
  // oxlint-disable-next-line no-control-regex
  const raw = /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/u
  for (const [title, text, want] of cases)
    test(`${title} are shown, not obeyed`, () => {
      assert.equal(escapeText(text), want)
      assert.doesNotMatch(
        readable({ level: 'info', service: text, message: text, details: { [text]: text } }),
        raw,
      )
      const record = logged({ level: 'info', service: text, message: text, details: { text } })
      assert.deepEqual([record['service'], record['message'], record['details']], [text, text, { text }])
      const stream = new Memory()
      logger(stream).sink(info(text))
      assert.doesNotMatch(stream.text, raw)
    })
})

describe('details', () => {
  const cases: [string, unknown, unknown][] = [
    ['an Authorization header', { Authorization: 'Basic x' }, { Authorization: '[redacted]' }],
    ['a progress token', { progressToken: 'p' }, { progressToken: 'p' }],
  ]
  for (const [title, value, want] of cases)
    test(`${title} are data`, () =>
      assert.deepEqual(logged(info('m', { value }))['details'], { value: want }))

  test('that are no data are not shown', () => {
    const cyclic: Record<string, unknown> = {}
    cyclic['self'] = cyclic
    const trap = {
      get broken(): string {
        throw new Error('no')
      },
    }
    for (const each of [cyclic, trap]) assert.equal(logged(info('m', each))['details'], '[cannot be shown]')
  })

  test('of an error have its name, message, code, cause and stack', () => {
    const error = Object.assign(new Error('outer', { cause: new TypeError('inner') }), { code: 'E1' })
    const { details } = logged(info('m', { error }))
    const text = JSON.stringify(details)
    for (const part of [
      '"name":"Error"',
      '"message":"outer"',
      '"code":"E1"',
      '"message":"inner"',
      '"stack":"',
    ])
      assert.ok(text.includes(part), part)
  })

  test('that are long are cut, and say how long they were', () => {
    const { message } = logged(info('x'.repeat(8193)))
    assert.equal(message, `${'x'.repeat(8192)}… (8193 characters)`)
    assert.equal(logged(info('x'.repeat(8192)))['message'], 'x'.repeat(8192))
  })

  test('that are very many leave one line of bounded length', () => {
    const details = Object.fromEntries(Array.from({ length: 60 }, (_, at) => [`k${at}`, 'x'.repeat(8000)]))
    assert.ok(JSON.stringify(logged(info('m', details))).length < 70_000)
    assert.ok(readable(info('m', details)).length < 70_000)
  })
})

describe('secrets', () => {
  test('are hidden in the message and in the details', () => {
    const text = 'key hunter2-abc! of postgres://me:pass@host/db'
    const line = logged(info(text, { deep: [text] }), ['hunter2-abc!'])
    const want = 'key [redacted] of postgres://me:[redacted]@host/db'
    assert.deepEqual([line['message'], line['details']], [want, { deep: [want] }])
  })

  test('of old configurations are remembered, but not for ever, and those of now whatever their number', () => {
    const stream = new Memory()
    const log = logger(stream)
    log.addSecrets(['first-secret'])
    log.addSecrets(['second-secret'])
    log.sink(info('first-secret second-secret'))
    log.addSecrets(Array.from({ length: 10_000 }, (_, at) => `other-${at}-`))
    log.sink(info('first-secret other-0- other-9999-'))
    assert.deepEqual(stream.text.match(/"message":"[^"]*"/g), [
      '"message":"[redacted] [redacted]"',
      '"message":"first-secret [redacted] [redacted]"',
    ])
  })

  test('hide in keys and errors too, and never in the name of a server', () => {
    const line = logged(
      { level: 'info', service: 'secret-1', message: 'm', details: { 'secret-1': new Error('secret-1') } },
      ['secret-1'],
    )
    assert.doesNotMatch(JSON.stringify({ ...line, service: '' }), /secret-1/)
    assert.equal(line['service'], 'secret-1')
  })
})

test('stderr that nobody reads loses lines and says how many', () => {
  const stream = new Memory()
  const log = logger(stream)
  stream.writableLength = 1024 * 1024 + 1
  log.sink(info('lost'))
  log.sink(info('lost'))
  stream.writableLength = 0
  log.sink(info('kept'))
  assert.doesNotMatch(stream.text, /"lost"/)
  assert.match(stream.text, /2 log lines were dropped.*\n.*"kept"/)
})

const options = (name: string, maxSizeBytes = 1024, maxFiles = 3): NonNullable<LoggerOptions['file']> => ({
  path: join(folder, name),
  maxSizeBytes,
  maxFiles,
})

/** A folder on a separate small disk; undefined where the test may not mount one. */
function smallDisk(): string | undefined {
  const path = mkdtempSync(join(folder, 'disk-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64k', 'tmpfs', path], { stdio: 'ignore' })
    return path
  } catch {
    return undefined
  }
}

describe('the file', () => {
  test('is made with its folder, for its owner only, and has JSON lines', async () => {
    const file = options('new/deep/a.log')
    const log = logger(undefined, { file })
    log.sink(info('one'))
    log.sink(info('two'))
    await log.close()
    const lines = readFileSync(file.path, 'utf8').trimEnd().split('\n')
    const messages = lines.map((line) => JSON.parse(line).message)
    assert.deepEqual(messages, ['one', 'two'])
    assert.equal(statSync(file.path).mode & 0o777, 0o600)
    assert.equal(statSync(join(folder, 'new/deep')).mode & 0o777, 0o700)
  })

  for (const [maxFiles, want] of [
    [1, ['r1.log']],
    [2, ['r2.log', 'r2.log.1']],
    [3, ['r3.log', 'r3.log.1', 'r3.log.2']],
  ] as const)
    test(`is rotated by size and kept ${maxFiles} times`, async () => {
      const file = options(`r${maxFiles}.log`, 1024, maxFiles)
      const log = logger(undefined, { file })
      for (let at = 0; at < 100; at += 1) log.sink(info(`line ${at}`))
      await log.close()
      const names = readdirSync(folder).filter((name) => name.startsWith(`r${maxFiles}.log`))
      assert.deepEqual(names.toSorted(), want)
      for (const name of names) assert.ok(statSync(join(folder, name)).size <= 1024)
      assert.match(readFileSync(file.path, 'utf8'), /line 99/)
    })

  test('that another process rotated is opened again, and not rotated twice', async () => {
    const file = options('shared.log', 4096)
    const log = logger(undefined, { file })
    log.sink(info('before'))
    await log.close()
    renameSync(file.path, `${file.path}.1`)
    log.sink(info('after'))
    await log.close()
    assert.match(readFileSync(file.path, 'utf8'), /after/)
    assert.match(readFileSync(`${file.path}.1`, 'utf8'), /before/)
    assert.ok(!existsSync(`${file.path}.2`))
  })

  const broken: [string, () => string][] = [
    ['a folder', () => folder],
    [
      'below a file',
      () => {
        const log = join(folder, 'plain')
        execFileSync('touch', [log])
        return join(log, 'x.log')
      },
    ],
    ['a device', () => '/dev/null'],
    ['a disk that is full', () => '/dev/full'],
    [
      'a named pipe',
      () => {
        const path = join(folder, 'pipe')
        execFileSync('mkfifo', [path])
        return path
      },
    ],
  ]
  for (const [title, path] of broken)
    test(`that is ${title} is warned about once and never in the way`, async () => {
      const stream = new Memory()
      const log = logger(stream, { file: { path: path(), maxSizeBytes: 1024, maxFiles: 2 } })
      log.sink(info('one'))
      await log.close()
      log.sink(info('two'))
      await log.close()
      const warnings = stream.text.split('\n').filter((line) => line.includes('cannot be written'))
      assert.equal(warnings.length, 1, stream.text)
      assert.match(stream.text, /"two"/)
    })

  test('on a full disk gets its lines when there is room again', async (t) => {
    const disk = smallDisk()
    if (disk === undefined) return t.skip('needs the right to mount')
    t.after(() => execFileSync('umount', [disk]))
    const stream = new Memory()
    const path = join(disk, 'full.log')
    writeFileSync(join(disk, 'filler'), 'x'.repeat(40_000))
    const console = { stream, format: 'json' as const, level: 'warn' as const }
    const file = { path, maxSizeBytes: 1024 ** 2, maxFiles: 1 }
    const log = logger(undefined, { file, console })
    for (let line = 0; line < 30; line += 1) log.sink(info('x'.repeat(1000)))
    await log.close()
    assert.match(stream.text, /cannot be written: ENOSPC/)
    rmSync(join(disk, 'filler'))
    log.sink(info('in time'))
    await log.close()
    assert.equal(stream.text.match(/cannot be written/g)?.length, 1)
    assert.match(stream.text, /can be written again"/)
    const written = readFileSync(path, 'utf8').split('\n')
    assert.equal(written.filter((line) => line.endsWith('x"}')).length, 30)
    assert.match(written.at(-2) ?? '', /^\{.*"in time"/)
  })

  test('takes a bounded amount of what a slow disk has not taken', async () => {
    const stream = new Memory()
    const file = options('flood.log', 1024 ** 3, 1)
    const log = logger(undefined, { file, console: { stream, format: 'json', level: 'warn' } })
    const line = 'x'.repeat(8000)
    for (let at = 0; at < 1000; at += 1) log.sink(info(line))
    await log.close()
    assert.ok(statSync(file.path).size <= 4 * 1024 * 1024)
    assert.match(stream.text, /lines were dropped/)
  })
})
