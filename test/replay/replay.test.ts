import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import process from 'node:process'
import { createInterface } from 'node:readline'
import { PassThrough } from 'node:stream'
import { describe, it } from 'node:test'
import { readTree } from '../../src/ask/json-value.js'
import { createProxy, limits } from '../../src/index.js'
import { openRecord } from '../../src/record/record.js'
import { asRead } from '../integration/support/programs.js'
import { scratch } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { type MessageVerdict, compareFrames, differingTimes } from '../../src/replay/compare.js'
import { Expectations, type ReceivedEvent } from '../../src/replay/expectations.js'
import { FrameReader } from '../../src/replay/pattern.js'
import { type Transcript, parseTranscripts, TranscriptError } from '../../src/replay/transcript.js'
import { NdjsonConnection } from '../../src/transports/stdio/ndjson.js'
import { cli, fileOf, fixtures, folder, programs, run, runInProcess } from './support.js'

const server = (name: string, ...args: string[]): string =>
  JSON.stringify(['$node', join(programs, name), ...args])

const call = '{"dir":"in","frame":{"jsonrpc":"2.0","id":1,"method":"ping"}}'

function compare(expected: string, came: string, mode: 'bytes' | 'json' = 'bytes'): MessageVerdict {
  const received = { bytes: Buffer.from(came), tree: readTree(Buffer.from(came)) }
  const pattern = new FrameReader(false, new Set(['known'])).pattern(Buffer.from(expected))
  return compareFrames(pattern, received, mode, new Map([['known', '7']]))
}

const cases: readonly [string, string, string, ('json' | 'bytes')?][] = [
  ['the same bytes', '{"a":1.0}', '{"a":1.0}'],
  ['$any', '{"a":"$any","b":1}', '{"a":{"x":[1]},"b":1}'],
  ['$any of a short value and of a long one', '["$any","$any"]', '[1,"a much longer text"]'],
  ['$string', '{"a":"$string"}', '{"a":"x\\n"}'],
  ['$number', '{"a":"$number"}', '{"a":-1.5e3}'],
  ['$match', '{"a":"$match:x+\\\\d"}', '{"a":"xxx1"}'],
  ['$match over lines', '{"a":"$match:a.b"}', '{"a":"a\\nb"}'],
  ['$id the first time', '{"id":"$id:new"}', '{"id":"abc"}'],
  ['$id twice in one frame', '{"id":"$id:new","a":["$id:new"]}', '{"id":[1],"a":[[1]]}'],
  ['$id that is known', '{"id":"$id:known"}', '{"id":7}'],
  ['$$ is the text itself', '{"a":"$$any"}', '{"a":"$any"}'],
  ['$rest', '{"a":{"b":1,"$rest":"any"}}', '{"a":{"c":2,"b":1}}'],
  ['json: order, white space, escapes', '{"a":"a","b":[1]}', ' { "b":[ 1 ], "a":"\\u0061"} ', 'json'],
  ['json: a member twice', '{"a":1,"a":2}', '{"a":1,"a":2}', 'json'],
  [
    'a batch in another order',
    '[{"id":1,"result":"$any"},{"id":2,"result":2}]',
    '[{"id":2,"result":2},{"id":1,"result":7}]',
  ],
]
for (const [title, expected, came, mode] of cases)
  it(`frames that are equal: ${title}`, () => assert.equal(compare(expected, came, mode).kind, 'equal'))

const differences: readonly [string, string, string, string, number, ('json' | 'bytes')?][] = [
  ['another text', '{"a":"text"}', '{"a":"test"}', '$.a is another value', 8],
  ['another number', '{"a":[1,{"b":12}]}', '{"a":[1,{"b":13}]}', '$.a[1].b is another value', 14],
  ['another spelling of a number', '{"a":1.0}', '{"a":1}', '$.a is another value', 6],
  ['also as json', '{"a":1.0}', '{"a":1}', '$.a is another value', 6, 'json'],
  ['another kind', '{"a":1}', '{"a":"1"}', '$.a is a string', 5],
  ['null', '{"a":1}', '{"a":null}', '$.a is null', 5],
  ['a missing member', '{"a":1,"b":2}', '{"a":1}', '$.b is missing', 6],
  ['a further member', '{"a":1}', '{"a":1,"b c":2}', '$["b c"] is not expected', 7],
  ['a member once instead of twice', '{"a":1,"a":1}', '{"a":1}', '$.a is missing', 6],
  ['a missing item', '{"a":[1,2]}', '{"a":[1]}', '$.a[1] is missing', 7],
  ['a further item', '{"a":[1]}', '{"a":[1,2]}', '$.a[1] is not expected', 8],
  ['the order of members', '{"a":1,"b":2}', '{"b":2,"a":1}', '$.b is written differently', 2],
  ['white space', '{"a":1}', '{"a": 1}', '$.a is written differently', 5],
  ['white space behind', '{"a":1}', '{"a":1} ', '$ is written differently', 7],
  ['an escape', '{"a":"a"}', '{"a":"\\u0061"}', '$.a is written differently', 6],
  ['after a placeholder', '{"a":"$any","b":1}', '{"a":[1,2], "b":1}', '$ is written differently', 11],
  ['$string', '{"a":"$string"}', '{"a":1}', '$.a is a number, not a string', 5],
  ['$number', '{"a":"$number"}', '{"a":"1"}', '$.a is a string, not a number', 5],
  ['$match', '{"a":"$match:x+"}', '{"a":"xy"}', '$.a does not match ^(?:x+)$', 5],
  ['$match of no string', '{"a":"$match:1"}', '{"a":1}', '$.a is a number, not a string', 5],
  ['$id that is known', '{"id":"$id:known"}', '{"id":8}', '$.id is not 7, which came before', 6],
  ['$$', '{"a":"$$any"}', '{"a":"any"}', '$.a is not "$any"', 5],
  ['below $rest', '{"a":1,"$rest":"any"}', '{"b":1,"a":2}', '$.a is another value', 11],
  ['in a batch', '[{"id":1,"r":1},{"id":2}]', '[{"id":2},{"id":1,"r":3}]', '$[1].r is another value', 22],
  ['a batch that lacks an answer', '[{"id":1},{"id":2}]', '[{"id":1}]', '$[1] is missing', 9],
]
for (const [title, expected, came, where, offset, mode] of differences)
  it(`where frames differ: ${title}`, () => {
    const verdict = compare(expected, came, mode)
    assert(verdict.kind === 'different')
    const { path, problem } = verdict.difference
    assert.equal(`${path} ${problem}`, where)
    assert.equal(verdict.difference.offset, offset)
  })

const times: readonly [string, string, number][] = [
  ['at 2026-01-02T03:04:05Z', 'at 2027-11-12T13:14:15Z', 1],
  ['2026-01-02T03:04:05.123+01:00, a Monday', '2026-01-03T03:04:05.999+02:00, a Tuesday', 2],
  ['2026-01-02', '2026-01-02', 0],
  ['2026-01-02 x', '2026-01-03 y', 0],
  ['on Monday', 'on 2026-01-03', 1],
  ['10:00', '11:00', 0],
]
for (const [expected, came, count] of times)
  it(`times that differ: ${expected} / ${came}`, () => assert.equal(differingTimes(expected, came), count))

it('times that differ: count only where they are let', () => {
  const [before, now] = ['{"a":"on 2026-01-02"}', '{"a":"on 2026-01-03"}'].map((text) => Buffer.from(text))
  assert(before !== undefined && now !== undefined)
  const pattern = new FrameReader(true).pattern(before)
  const received = { bytes: now, tree: readTree(now) }
  const verdict = (timesVary: boolean): MessageVerdict =>
    compareFrames({ ...pattern, timesVary }, received, 'bytes', new Map())
  assert.deepEqual(verdict(true), { kind: 'equal', bound: new Map(), times: 1 })
  assert.equal(verdict(false).kind, 'different')
})

function transcriptOf(...lines: readonly string[]): Transcript {
  const [transcript] = parseTranscripts('a.jsonl', Buffer.from(lines.join('\n')))
  assert(transcript !== undefined)
  return transcript
}

function eventName(event: ReceivedEvent): string {
  if (event.kind === 'unexpected') return '?'
  return `${event.kind === 'different' ? '!' : ''}${event.step.line}`
}

const out = (frame: string, more = ''): string => `{"dir":"out",${more}"frame":${frame}}`

const recordedSteps = (...lines: readonly string[]): Transcript['steps'] =>
  transcriptOf('{"mcps":1,"recorded":true}', ...lines).steps

/** Takes every frame in turn: the line that it was, `!` and the line that it should have been, or `?`. */
function found(lines: readonly string[], came: readonly string[], recorded = false): string {
  const { steps } = transcriptOf(`{"mcps":1,"recorded":${recorded}}`, ...lines)
  const expected = steps.flatMap((step, at) => (step.kind === 'expect' ? [{ at, step }] : []))
  const expectations = new Expectations(expected, recorded)
  return came
    .map((text) => Buffer.from(text))
    .map((bytes) => expectations.take(bytes, new Map()))
    .map(eventName)
    .join(' ')
}

describe('which expected frame one that came is', () => {
  const [a, b, c] = ['{"method":"a"}', '{"method":"b"}', '{"method":"c"}']
  const [one, two] = ['{"id":1,"result":1}', '{"id":2,"result":2}']

  const cases: readonly [string, readonly string[], readonly string[], string][] = [
    ['answers by their ids', [out(one), out(two)], [two, one], '3 2'],
    ['an id in another spelling', [out('{"id":1.0,"result":1}')], [one], '!2'],
    ['an answer to nothing', [out(one)], [two, one], '? 2'],
    ['the same id twice', [out(one), out(one)], [one, one], '2 3'],
    ['answers without an id', [out('{"id":null,"error":1}')], ['{"error":1}'], '!2'],
    ['messages in their order', [out(a), out(b)], [a, b], '2 3'],
    ['messages in another order', [out(a), out(b)], [b, a], '!2 !3'],
    ['answers between messages', [out(one), out(a)], [a, one], '3 2'],
    ['an optional message that does not come', [out(a, '"optional":true,'), out(b)], [b], '3'],
    ['an optional message that comes too late', [out(a, '"optional":true,'), out(b)], [b, a], '3 ?'],
    ['messages whose place is free', [out(a, '"unordered":true,'), out(b), out(c)], [b, a, c], '3 2 4'],
    ['a message that nobody expects', [out(one)], [a], '?'],
    ['a message instead of another', [out(a)], [b], '!2'],
    ['batches by their ids', [out(`[${one}]`), out(`[${two}]`)], [`[${two}]`, `[${one}]`], '3 2'],
  ]
  for (const [title, lines, came, want] of cases) it(title, () => assert.equal(found(lines, came), want))

  it('in a recording, by method', () => {
    const [x, y] = ['{"method":"a","n":1}', '{"method":"a","n":2}']
    assert.equal(found([out(x), out(b), out(y)], [b, x, y], true), '3 2 4')
    assert.equal(found([out(x), out(y)], [y, x], true), '!2 !3')
  })
})

const mistakes: readonly [string, readonly string[], RegExp][] = [
  ['no header', ['{"dir":"in","frame":{}}'], /^a\.jsonl:1: the first line must be a header/],
  ['nothing to do', ['{"mcps":1}'], /^a\.jsonl: there is nothing to replay/],
  ['another version', ['{"mcps":2}'], /:1: "mcps" must be 1/],
  ['no JSON', ['{"mcps":1}', '', '{"dir":"in","frame":{]}'], /:3: .* at byte 21 of the line/],
  ['an unknown key', ['{"mcps":1}', '{"dir":"out","optinal":true,"frame":{}}'], /:2: "optinal" is not/],
  ['an unknown header', ['{"mcps":1,"configs":{}}'], /:1: "configs" is not known/],
  ['no direction', ['{"mcps":1}', '{"frame":{}}'], /:2: "dir" must be/],
  ['no frame', ['{"mcps":1}', '{"dir":"in"}'], /:2: a line needs a "frame"/],
  ['a comparison', ['{"mcps":1}', '{"dir":"out","expect":"text","frame":{}}'], /:2: "expect" must be/],
  ['an unknown placeholder', ['{"mcps":1}', '{"dir":"out","frame":"$foo"}'], /:2: "\$foo" is no place/],
  ['a wrong expression', ['{"mcps":1}', '{"dir":"out","frame":"$match:("}'], /:2: "\$match:\(":/],
  ['a name without a value', ['{"mcps":1}', '{"dir":"in","frame":"$id:x"}'], /:2: "\$id:x" is sent, but/],
]
for (const [title, lines, want] of mistakes)
  it(`mistakes in a transcript: ${title}`, () =>
    assert.throws(
      () => transcriptOf(...lines),
      (error) => error instanceof TranscriptError && want.test(error.message),
    ))

describe('a recording', () => {
  it('has no placeholders', () => {
    const [step] = recordedSteps('{"dir":"out","frame":{"id":1,"result":"$any"}}')
    assert(step?.kind === 'expect')
    assert.equal(step.pattern?.holes.size, 0)
  })

  it('leaves the ids of the other end free, and sends what they are', () => {
    const [asked, answered] = recordedSteps(
      '{"dir":"out","frame":{"id":5,"method":"roots/list"}}',
      '{"dir":"in","frame":{"id":5,"result":{}}}',
    )
    assert(asked?.kind === 'expect' && answered?.kind === 'send')
    assert.deepEqual([...(asked.pattern?.holes.values() ?? [])], [{ name: 'id 5', isNew: true }])
    const fills = answered.fills.map(({ name, start, end }) => [name, start, end])
    assert.deepEqual(fills, [['id 5', 6, 7]])
  })

  it('keeps the hops of servers apart, and its clients', () => {
    const transcripts = parseTranscripts(
      'a.jsonl',
      Buffer.from(
        [
          '{"mcps":1,"recorded":true}',
          '{"t":0,"hop":"client","conn":1,"dir":"in","frame":{"id":1,"method":"ping"}}',
          '{"t":0,"hop":"upstream","service":"x","conn":2,"dir":"out","frame":{"id":1,"method":"ping"}}',
          '{"t":0,"hop":"client","conn":3,"dir":"in","frame":{"id":1,"method":"ping"}}',
          '{"mcps":1,"recorded":true}',
          '{"t":0,"hop":"client","conn":1,"dir":"in","junk64":"eAo="}',
        ].join('\n'),
      ),
    )
    const counts = transcripts.map(({ name, steps }) => `${name} ${steps.length}`)
    assert.deepEqual(counts, ['a.jsonl#1 1', 'a.jsonl#2 1', 'a.jsonl#3 1'])
  })
})

describe('a replay that fails', () => {
  it('names the frame, the byte and the member', async () => {
    const file = fileOf(
      `{"mcps":1,"command":${server('echo.mjs')}}`,
      call,
      '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}}',
    )
    const { code, out } = await run(file)
    assert.equal(code, 1)
    assert.match(out, /^FAIL /)
    assert(out.includes(`${file}:3: the answer to id 1 differs`), out)
    assert(out.includes('at byte 34: $.result.tools is missing'), out)
    assert(out.includes('expected  {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}'), out)
    assert.match(out, /0 passed, 1 failed \(1 frames compared\)\n$/)
  })

  it('names what did not come in time', async () => {
    const file = fileOf(
      `{"mcps":1,"command":${server('small.mjs', 'slow')}}`,
      '{"dir":"in","frame":{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hang"}}}',
      '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}',
    )
    const { code, out } = await run(file, { timeout: 300 })
    assert.equal(code, 1)
    assert(out.includes(`${file}:3: the answer to id 1 did not come: nothing came within 300 ms`), out)
  })

  it('says that the server cannot be started', async () => {
    const file = fileOf('{"mcps":1}', call, '{"dir":"out","frame":{"id":1,"result":{}}}')
    const { out, code } = await run(file, { rest: [join(folder, 'no-such-program')] })
    assert.equal(code, 1)
    assert.match(out, /could not be started \(ENOENT\)/)
  })

  it('shows what was not expected', async () => {
    const file = fileOf(
      `{"mcps":1,"command":${server('small.mjs', 'junk')}}`,
      call,
      '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}',
    )
    const { out, code } = await run(file)
    assert.equal(code, 1)
    assert.match(out, /bytes that are no JSON was not expected\n {4}came {6}Loading\.\.\./)
  })

  it('compares the exit code', async () => {
    const file = fileOf('{"mcps":1,"command":["$node","-e","process.exit(4)"]}', '{"exit":0}')
    assert.match((await run(file)).out, /the server exited with 4, expected exit 0/)
    assert.equal(
      (await run(fileOf('{"mcps":1,"command":["$node","-e","process.exit(4)"]}', '{"exit":4}'))).code,
      0,
    )
  })

  it('skips a batch that was recorded over HTTP', async () => {
    const batch = '{"dir":"in","frame":[{"jsonrpc":"2.0","id":1,"method":"ping"}]}'
    const { out } = await run(fileOf('{"mcps":1,"recorded":true,"args":["http"]}', batch))
    assert.match(out, /: it needs stdio \(line 2 sends what is not one message\), and this is HTTP\n/)
  })

  it('does not start with a file that cannot be read', async () => {
    const { code, out, err } = await run([
      fileOf('{"mcps":1}', '{"dir":"up","frame":{}}'),
      join(folder, 'none.jsonl'),
    ])
    assert.deepEqual([code, out], [2, ''])
    assert.match(err, /:2: "dir" must be[^]*none\.jsonl: ENOENT/)
  })

  it('is said by the exit code of the command', () => {
    const file = fileOf('{"mcps":1}', call, '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}')
    const args = (program: string, ...more: string[]): string[] => [
      cli,
      'replay',
      file,
      '--',
      process.execPath,
      join(programs, program),
      ...more,
    ]
    const good = spawnSync(process.execPath, args('echo.mjs'), { encoding: 'utf8' })
    assert.deepEqual([good.status, good.stdout], [0, '1 passed, 0 failed (1 frames compared)\n'], good.stderr)
    assert.equal(spawnSync(process.execPath, args('small.mjs', 'junk')).status, 1)
  })
})

const withCommand = { mcps: 1, command: ['$node', '-e', 'x y'] }
const touching = { mcpServers: { s: { command: 'touch', args: ['/tmp/x'] } } }
const echo = { rest: [process.execPath, join(programs, 'echo.mjs')] }
const answered = '{"dir":"out","frame":{"jsonrpc":"2.0","id":1,"result":{}}}'
const named: [title: string, head: object, more: object, shown: string | undefined][] = [
  ['a command', withCommand, {}, "'$node' -e 'x y'"],
  ['a service', { ...withCommand, service: ['a'] }, {}, ': a\n'],
  [
    'arguments and a configuration',
    { mcps: 1, args: ['--stdio'], config: touching },
    {},
    'mcps-proxy --stdio, with the configuration {"mcpServers"',
  ],
  ['nothing, which starts the servers of the user', { mcps: 1 }, {}, ': mcps-proxy\n'],
  ['a command, where the command line has another', withCommand, echo, undefined],
  [
    'a variable of the command',
    { mcps: 1, env: { NODE_OPTIONS: '--import x' } },
    echo,
    "NODE_OPTIONS='--import x'",
  ],
]
for (const [title, head, more, shown] of named)
  it(`a transcript is started only with trust: ${title}`, async () => {
    const file = fileOf(JSON.stringify(head), call, answered)
    const { code, err } = await run(file, { ...more, trust: false })
    assert.equal(code, shown === undefined ? 0 : 2)
    assert(err.includes(shown ?? ''), err)
    assert.equal(err.includes('nothing was started'), shown !== undefined)
  })

for (const name of readdirSync(fixtures).filter((each) => each.endsWith('.jsonl')))
  it(`the fixtures: ${basename(name, '.jsonl')}`, async () => {
    const file = join(fixtures, name)
    // The exit code is that of the command.
    const isOfCommand = readFileSync(file, 'utf8').includes('{"exit"')
    const { code, out } = await (isOfCommand ? run(file) : runInProcess(file))
    assert.equal(code, 0, out)
    assert.match(out, /^1 passed, 0 failed \(\d+ frames compared\)\n$/)
  })

it('what was recorded replays without editing: questions of a server under other ids', async () => {
  const asks = { command: process.execPath, args: [join(programs, 'small.mjs'), 'asks'] }
  const config = { mcpServers: { asks }, startupGraceMs: 60_000 }
  const configFile = join(folder, 'asks.json')
  writeFileSync(configFile, JSON.stringify(config))
  const file = join(folder, 'asks.jsonl')
  await recordQuestions(config, file, ['--stdio', '--record', file, '--config', configFile])
  const { code, out } = await run(file)
  assert.equal(code, 0, out)
  // As if the proxy had chosen other ids then: nothing but the question and its answer names them.
  const other = readFileSync(file, 'utf8').replaceAll(
    /"id":1(?=,"(?:method":"roots|result":\{"roots))/g,
    '"id":"asked-1"',
  )
  assert.notEqual(other, readFileSync(file, 'utf8'))
  assert.equal((await run(fileOf(other.trimEnd()))).code, 0)
})

/** A server that answers each request with this expression of `m`, the request. */
const answering = (result: string): readonly string[] => [
  process.execPath,
  '-e',
  `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
    const m = JSON.parse(line)
    console.log(JSON.stringify({ jsonrpc: '2.0', id: m.id, result: ${result} }))
  })`,
]

const ask = (id: number, params: object = {}): string =>
  JSON.stringify({ dir: 'in', frame: { jsonrpc: '2.0', id, method: 'tools/call', params } })
const expected = (id: number, result: object): string => out(JSON.stringify({ jsonrpc: '2.0', id, result }))

it('times, states of questions and ids of tasks are chosen anew by each server, and sent back as they came', async () => {
  const then = { requestState: 'state-of-then', task: { taskId: 'task-of-then' }, at: '2026-01-02T03:04:05Z' }
  const file = fileOf(
    '{"mcps":1,"recorded":true,"command":"x"}',
    ask(1),
    expected(1, then),
    ask(2, { requestState: 'state-of-then', taskId: 'task-of-then' }),
    expected(2, then),
  )
  const chosen = `{ requestState: m.params.requestState ?? 'state-of-now',
      task: { taskId: m.params.taskId ?? 'task-of-now' }, at: '2027-11-12T13:14:15Z' }`
  const replayed = await run(file, { rest: answering(chosen) })
  assert.equal(replayed.out, '1 passed, 0 failed (2 frames compared, 2 accepted as time)\n')
})

for (const [signal, exitCode] of [
  ['SIGTERM', 143],
  ['SIGINT', 130],
] as const)
  it(`${signal} removes the temporary configuration, and the exit code names the signal`, async (t) => {
    const temporary = scratch(t)
    const config = {
      mcpServers: {
        s: { command: '$node', args: ['-e', 'setInterval(() => {}, 1e6)'], env: { KEY: 'secret' } },
      },
    }
    const file = fileOf(JSON.stringify({ mcps: 1, config }), call, expected(1, {}))
    const child = spawn(process.execPath, [cli, 'replay', '--trust', file], {
      env: { ...process.env, TMPDIR: temporary },
    })
    const closed = once(child, 'close')
    const folders = (): string[] => readdirSync(temporary).filter((name) => name.startsWith('mcps-replay-'))
    await until(() => folders().length > 0)
    child.kill(signal)
    assert.deepEqual(await closed, [exitCode, null])
    assert.deepEqual(folders(), [])
  })

/** As those of a command that records. */
const patient = { ...limits, initializeGraceMs: Infinity }

/** A session in which the server asks the client for its roots. */
async function recordQuestions(
  config: Readonly<Record<string, unknown>>,
  file: string,
  args: readonly string[],
): Promise<void> {
  const record = await openRecord(file, { command: 'test', args })
  const proxy = await createProxy(asRead(config), { tap: record, limits: patient })
  const [input, output] = [new PassThrough(), new PassThrough()]
  await proxy.attach(new NdjsonConnection(input, output))
  const say = (text: string): void => void input.write(`${text}\n`)
  const params =
    '{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}'
  say(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":${params}}`)
  for await (const line of createInterface({ input: output })) {
    const message: unknown = JSON.parse(line)
    const { id, method } = Object(message)
    if (method === 'roots/list') {
      say(`{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"roots":[]}}`)
    } else if (id === 1) {
      say('{"jsonrpc":"2.0","method":"notifications/initialized"}')
      say('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"asks__roots","arguments":{}}}')
    } else break
  }
  await proxy.close()
  await record.close()
}
