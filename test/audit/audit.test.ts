import { strict as assert } from 'node:assert'
import { describe, test } from 'node:test'
import { type Audit, openAudit } from '../../src/audit/audit.js'
import { auditFailed } from '../../src/mcp/error-codes.js'
import type { CallEvent, LogRecord } from '../../src/index.js'
import { Redactor } from '../../src/text/redactor.js'
import { at, parsed, textAt } from '../integration/support/json.js'
import type { Scope } from '../integration/support/spawned.js'
import { callEvent } from '../proxy/support/call-event.js'
import { FakeRuntime, settled } from '../upstream/support/fake-runtime.js'

class Stage {
  readonly runtime = new FakeRuntime()
  readonly log: LogRecord[] = []
  text = ''
  /** The fault of the next write, which may write some bytes first. */
  fault: (() => Promise<never>) | undefined
  /** Bytes that are buffered for stderr. */
  waiting = 0
  readonly audit: Audit

  constructor(
    scope: Scope | undefined,
    more: { payloads?: boolean; methods?: string[]; file?: undefined; onError?: 'refuse' } = {},
  ) {
    const redactor = new Redactor(['configured'])
    const { payloads = false, methods = ['tools/call'], onError = 'continue' } = more
    const file = 'file' in more ? more.file : '/audit.jsonl'
    const stderr = {
      writableLength: 0,
      write: (text: string) => {
        this.text += text
        return true
      },
    }
    Object.defineProperty(stderr, 'writableLength', { get: () => this.waiting })
    this.audit = openAudit(
      { file, payloads, methods, onError, maxSizeBytes: 1024 ** 3, maxFiles: 1 },
      {
        log: (record) => this.log.push(record),
        stderr,
        clean: (text, most) => redactor.shown(text, most),
        runtime: this.runtime,
        append: async (bytes) => {
          await this.fault?.()
          this.text += bytes.toString()
        },
      },
    )
    scope?.after(() => this.audit.close())
  }

  /** Writes the lines of these events, and resolves with all lines of the file. */
  async ended(...events: Partial<CallEvent>[]): Promise<unknown[]> {
    for (const event of events) this.audit.onCall(callEvent(event))
    await settled()
    return this.lines
  }

  get lines(): unknown[] {
    const lines = this.text.split('\n')
    return lines.filter((line) => line.startsWith('{')).map(parsed)
  }

  fails(): void {
    this.fault = () => Promise.reject(new Error('ENOSPC'))
  }
}

const names = (lines: readonly unknown[]): unknown[] =>
  lines.map((line) => at(line, 'name') ?? at(line, 'lost'))

describe('a line', () => {
  test('says who called what, and how that ended', async (t) => {
    const [line] = await new Stage(t).ended({
      principal: 'ci',
      address: '192.0.2.1',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      isConfirmed: true,
      view: 'profile:review',
      name: 'b',
      resultBytes: 9,
    })
    assert.deepEqual(line, {
      time: '1970-01-01T00:00:00.000Z',
      kind: 'call',
      seq: 1,
      schema: 'default',
      client: 1,
      clientName: 'it',
      principal: 'ci',
      address: '192.0.2.1',
      traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
      profile: 'review',
      transport: 'stdio',
      revision: '2025-11-25',
      method: 'tools/call',
      name: 'b',
      server: 's',
      item: 'a',
      argumentsSha256: '44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a',
      argumentsBytes: 2,
      confirmed: true,
      outcome: 'answered',
      ms: 7,
      resultBytes: 9,
      resultTokens: 3,
    })
  })

  const cases: readonly (readonly [string, Partial<CallEvent>, object | undefined])[] = [
    ['has no calls of other methods', { method: 'tools/list' }, undefined],
    ['has refused ones', { method: 'tools/list', outcome: 'refused', reason: 'rate-limited' }, { reason: 'rate-limited' }],
    ['says that a client was asked', { isAsked: true }, { outcome: 'asked' }],
    ['says that a tool failed', { isToolError: true }, { isToolError: true }],
    ['has errors with their codes', { outcome: 'error', code: -5 }, { outcome: 'error', code: -5 }],
    ['has no secret in a name', { name: 'x://configured' }, { name: 'x://[redacted]' }],
    ['names no profile for a door', { view: 'server:s' }, { profile: undefined }],
  ] // prettier-ignore
  for (const [title, event, wanted] of cases)
    test(title, async (t) => {
      const [line] = await new Stage(t).ended(event)
      for (const [key, value] of Object.entries(wanted ?? { name: undefined }))
        assert.deepEqual(at(line, key), value)
      assert.equal(line === undefined, wanted === undefined)
    })

  test('has arguments and results only when they are asked for, without secrets and not longer than 64 KiB', async (t) => {
    const stage = new Stage(t, { payloads: true, methods: ['*'] })
    const long = `{"a":"${'x'.repeat(64 * 1024 - 14)}configured"}`
    const bytes = (part: string): Buffer =>
      Buffer.from(part === 'arguments' ? '{"api_key":"k","b":"configured"}' : long)
    const [line] = await stage.ended({ method: 'prompts/list', bytes })
    assert.equal(textAt(line, 'arguments'), '{"api_key":"[redacted]","b":"[redacted]"}')
    assert.match(textAt(line, 'result'), /x\[redacted\]… \(65540 bytes\)$/)
  })
})

describe('the file', () => {
  test('on a full disk gets its lines when it can be written again', async (t) => {
    const stage = new Stage(t)
    await stage.ended({ name: 'a' })
    stage.fails()
    await stage.ended({ name: 'b' }, { name: 'c' })
    await stage.ended({ name: 'd' })
    stage.fault = undefined
    assert.deepEqual(names(await stage.ended({ name: 'e' })), ['a', 'b', 'c', 'd', 'e'])
    const errors = stage.log.map(({ level, message }) => `${level} ${message}`)
    assert.deepEqual(errors, [
      'error the audit file /audit.jsonl: cannot be written: ENOSPC',
      'error the audit file /audit.jsonl: can be written again',
    ])
  })

  test('with onError refuse lets no call pass while it cannot be written, and gets every line later', async (t) => {
    const stage = new Stage(t, { onError: 'refuse' })
    const refused = (): (boolean | string)[] =>
      ['tools/call', 'tools/list'].map((method) => stage.audit.refusal(method)?.message ?? false)
    await stage.ended({ name: 'a' })
    assert.deepEqual(refused(), [false, false])
    stage.fails()
    await stage.ended({ name: 'b' }, { name: 'c' })
    assert.deepEqual(refused(), [auditFailed().message, false])
    stage.fault = undefined
    refused()
    await settled()
    assert.deepEqual(refused(), [false, false])
    assert.deepEqual(names(stage.lines), ['a', 'b', 'c'])
    assert.equal(stage.audit.lostLines, 0)
  })

  test('takes a bounded amount of what a slow disk has not taken', async (t) => {
    const stage = new Stage(t)
    for (let at = 0; at < 20_000; at++) stage.audit.onCall(callEvent({ name: 'n'.repeat(1000) }))
    await settled()
    await stage.ended({ name: 'last' })
    const lost = stage.lines.map((line) => at(line, 'lost')).find((each) => each !== undefined)
    assert(typeof lost === 'number' && lost > 10_000)
    assert(stage.lines.some((line) => at(line, 'kind') === 'audit-gap'))
    assert.equal(stage.lines.length - 2 + lost, 20_000)
    assert.equal(stage.lines.map((line) => at(line, 'name')).at(-1), 'last')
  })

  test('is tried once more at the end', async () => {
    const stage = new Stage(undefined)
    stage.fails()
    await stage.ended({ name: 'a' })
    stage.fault = undefined
    await stage.audit.close()
    assert.deepEqual(names(stage.lines), ['a'])
  })

  test('of a disk that never answers is waited for two seconds', async () => {
    const stage = new Stage(undefined)
    await stage.ended({})
    stage.fault = () => new Promise(() => {})
    await stage.ended({})
    let isClosed = false
    void stage.audit.close().then(() => (isClosed = true))
    await stage.runtime.pass(1999, 1999)
    assert.equal(isClosed, false)
    await stage.runtime.pass(1)
    assert.equal(isClosed, true)
  })
})

test('on stderr lines are lost while that is not read, and counted', async (t) => {
  const stage = new Stage(t, { file: undefined })
  await stage.ended({ name: 'a' })
  stage.waiting = 1024 * 1024 + 1
  await stage.ended({ name: 'b' }, { name: 'c' })
  stage.waiting = 0
  assert.deepEqual(names(await stage.ended({ name: 'd' })), ['a', 2, 'd'])
})
