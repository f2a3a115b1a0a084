import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isBatch, type Frame, readFrame } from '../../src/jsonrpc/frame.js'
import { FrameError, type FrameErrorCode } from '../../src/jsonrpc/jsonrpc-errors.js'
import { toLine } from '../../src/jsonrpc/line.js'
import type { Span } from '../../src/jsonrpc/scan.js'
import { rawAt } from '../../src/jsonrpc/text.js'

function frameOf(text: string): Frame {
  return readFrame(toLine(text))
}

function refusal(text: string): FrameError {
  try {
    frameOf(text)
  } catch (error) {
    if (error instanceof FrameError) return error
    throw error
  }
  return assert.fail(`accepted: ${text.slice(0, 200)}`)
}

function text(frame: Frame, span: Span | undefined): string | undefined {
  return span === undefined ? undefined : frame.line.toString('utf8', span.start, span.end)
}

test('a request: its id as written, its method, the members of params and _meta', () => {
  const frame = frameOf(
    ' {"params" : {"name":"a","arguments":{"_meta":{"progressToken":9}},"_meta":{"progressToken":"t","x/y":[]}},' +
      '"id":1.0,\t"method":"tools\\/call","jsonrpc":"2.0","other":true} ',
  )
  assert.ok(frame.kind === 'request')
  assert.deepEqual([frame.id, text(frame, frame.idSpan), frame.method], ['1.0', '1.0', 'tools/call'])
  assert.equal(frame.params.members.string('name'), 'a')
  assert.equal(text(frame, frame.params.members.span('arguments')), '{"_meta":{"progressToken":9}}')
  assert.equal(text(frame, frame.params.metaSpan), '{"progressToken":"t","x/y":[]}')
  assert.equal(text(frame, frame.params.meta.span('progressToken')), '"t"')
  assert.equal(frame.params.meta.size, 2)
  assert.equal(frame.multiline, false)
})

test('only params._meta is _meta', () => {
  const frame = frameOf(
    '{"jsonrpc":"2.0","method":"n","_meta":{"a":1},"params":{"x":{"_meta":{"b":1}},"_meta":{"_meta":{"progressToken":1}}}}',
  )
  assert.ok(frame.kind === 'notification')
  assert.deepEqual([frame.params.meta.size, frame.params.meta.span('progressToken')], [1, undefined])
})

test('the other kinds', () => {
  const notification = frameOf('{"jsonrpc":"2.0","method":"n"}')
  assert.ok(notification.kind === 'notification')
  const facts = [notification.params.span, notification.params.metaSpan, notification.params.members.size]
  assert.deepEqual(facts, [undefined, undefined, 0])
  const result = frameOf('{"jsonrpc":"2.0","id":"a","result":null}')
  assert.ok(result.kind === 'result')
  assert.deepEqual([result.id, text(result, result.result)], ['"a"', 'null'])
  const error = frameOf('{"error":{"code":-1,"message":""},"id":-3,"jsonrpc":"2\\u002e0"}')
  assert.ok(error.kind === 'error')
  assert.deepEqual([error.id, text(error, error.error)], ['-3', '{"code":-1,"message":""}'])
})

test('an error response may name no request, in two ways', () => {
  for (const id of ['', '"id":null,']) {
    const error = frameOf(`{"jsonrpc":"2.0",${id}"error":{}}`)
    assert.ok(error.kind === 'error')
    assert.equal(error.id, undefined)
  }
})

const lineBreaks: [input: string, multiline: boolean][] = [
  ['{"jsonrpc":"2.0",\t"method":"n"}', false],
  ['{"jsonrpc":"2.0","method":"n\\n"}', false],
  ['{"jsonrpc":"2.0",\r"method":"n"}', true],
  ['{"jsonrpc":"2.0","method":"n"}\n', true],
]

test('a frame says whether a line break stands between its tokens', () => {
  for (const [input, multiline] of lineBreaks) assert.equal(frameOf(input).multiline, multiline, input)
})

const everythingBelow = [
  '{"a":1,"a":2,"A":3,"\\u0061":4,"method":"x","Method":"y","__proto__":{"id":1}}',
  '[{"name":1,"name":2}]',
  '"text"',
]

test('below arguments and result everything that is JSON passes, duplicates and all', () => {
  for (const value of everythingBelow) {
    const call = frameOf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":${value}}}`)
    assert.ok(call.kind === 'request')
    assert.equal(text(call, call.params.members.span('arguments')), value)
    assert.equal(frameOf(`{"jsonrpc":"2.0","id":1,"result":${value}}`).kind, 'result')
    assert.equal(frameOf(`{"jsonrpc":"2.0","id":1,"error":${value}}`).kind, 'error')
  }
})

const deep = (depth: number): string => `${'['.repeat(depth)}${']'.repeat(depth)}`

const refusals: [text: string, code: FrameErrorCode, id?: string][] = [
  ['', 'FRAME_SYNTAX'],
  ['npm warn deprecated', 'FRAME_SYNTAX'],
  ['{"jsonrpc":"2.0","method":"n"', 'FRAME_SYNTAX'],
  ['{"jsonrpc":"2.0","method":"n"}{}', 'FRAME_SYNTAX'],
  ['\ufeff{"jsonrpc":"2.0","method":"n"}', 'FRAME_SYNTAX'],
  ['1', 'FRAME_ENVELOPE'],
  ['"text"', 'FRAME_ENVELOPE'],
  ['[]', 'FRAME_ENVELOPE'],
  ['{}', 'FRAME_ENVELOPE'],
  ['{"jsonrpc":"2.0"}', 'FRAME_ENVELOPE'],
  ['{"jsonrpc":"2.0","id":1}', 'FRAME_ENVELOPE', '1'],
  ['{"id":1,"method":"m"}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"1.0","id":1,"method":"m"}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":2.0,"id":1,"method":"m"}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":null,"id":1,"method":"m"}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":1}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":null}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":"m","params":[]}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":"m","params":null}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":"m","params":"{}"}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":"m","result":1}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"method":"m","error":{}}', 'FRAME_ENVELOPE', '1'],
  ['{"jsonrpc":"2.0","id":1,"result":1,"error":{}}', 'FRAME_ENVELOPE'],
  ['{"jsonrpc":"2.0","result":1}', 'FRAME_ENVELOPE'],
  ['{"jsonrpc":"2.0","id":null,"result":1}', 'FRAME_ENVELOPE'],
  ['{"jsonrpc":"2.0","id":null,"method":"m"}', 'FRAME_ID'],
  ['{"jsonrpc":"2.0","id":1.5,"method":"m"}', 'FRAME_ID'],
  ['{"jsonrpc":"2.0","id":true,"method":"m"}', 'FRAME_ID'],
  ['{"jsonrpc":"2.0","id":{},"method":"m"}', 'FRAME_ID'],
  ['{"jsonrpc":"2.0","id":[1],"result":{}}', 'FRAME_ID'],
  [`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${deep(127)}}}`, 'FRAME_DEPTH', '1'],
  [`{"jsonrpc":"2.0","method":"m","params":{"a":${deep(127)}},"id":"x"}`, 'FRAME_DEPTH', '"x"'],
  [`{"jsonrpc":"2.0","id":1,"result":${deep(128)}}`, 'FRAME_DEPTH'],
  [`{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(257)}"}`, 'FRAME_ENVELOPE', '1'],
  [`{"jsonrpc":"2.0","id":1,"method":"${'€'.repeat(86)}"}`, 'FRAME_ENVELOPE', '1'],
]

test('refuses what is not one message, with the id to which a refusal may be addressed', () => {
  for (const [message, code, id] of refusals) {
    const error = refusal(message)
    assert.deepEqual([error.code, error.id], [code, id], message.slice(0, 200))
  }
})

test('one less is accepted', () => {
  frameOf(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":${deep(126)}}}`)
  frameOf(`{"jsonrpc":"2.0","id":1,"result":${deep(127)}}`)
  frameOf(`{"jsonrpc":"2.0","id":1,"method":"${'m'.repeat(256)}"}`)
})

/** Characters that some readers of JSON take for `s` and `k`. */
const [s, k] = ['\u017f', '\u212a']

/** Members that two parsers can read differently, in each of the objects that determine the route of a message. */
const smuggled: Readonly<Record<string, string>> = {
  envelope: String.raw`"method":"other" "Method":"other" "METHOD":"other" "m\u0065thod":"other" "\u004dethod":"other"
    "method\u0000":"other" "method\u0000x":"other" "jsonrpc":"2.0" "jsonRPC":"1.0" "j${s}onrpc":"1.0"
    "j\u017fonrpc":"1.0" "params":{} "Params":{"name":"other"} "param${s}":{"name":"other"} "Result":1 "re${s}ult":1
    "ERROR":1 "x":1,"x":2 "x":1,"X":2 "x":1,"\u0078":2`,
  params: String.raw`"name":"other" "Name":"other" "n\u0061me":"other" "name\u0000":"other" "Arguments":{}
    "argument${s}":{} "URI":"file:///other" "uri":"a","uri":"b" "Cursor":"" "ref":{},"Ref":{} "requestid":1
    "progressTo${k}en":1 "progresstoken":1 "_Meta":{} "_meta":{} "_met\u0061":{"progressToken":1} "x":1,"x":1`,
  meta: String.raw`"progressToken":2 "progresstoken":2 "progressTo${k}en":2 "progressTo\u212aen":2
    "progre${s}${s}Token":2 "io.example/a":1,"IO.example/a":2 "a":1,"a":1`,
}

function call(place: string, members: string): string {
  const at = (here: string): string => (here === place ? `,${members}` : '')
  return (
    `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
    `"params":{"name":"a","arguments":{},"_meta":{"progressToken":1${at('meta')}}${at('params')}}${at('envelope')}}`
  )
}

test('refuses every member that two parsers can read differently', () => {
  frameOf(call('envelope', '"x":1,"y":2'))
  frameOf(call('params', '"nam":1,"names":2'))
  frameOf(call('meta', '"name":1,"id":2'))
  for (const [place, all] of Object.entries(smuggled))
    for (const members of all.split(/\s+/)) {
      const { code, id, unreadable, message } = refusal(call(place, members))
      assert.deepEqual([code, id, unreadable], ['FRAME_AMBIGUOUS', '1', false], `${place}: ${members}`)
      assert.match(message, /^'[\x20-\x7e]*' /)
    }
})

test('answers are held to the same', () => {
  for (const members of String.raw`"Result":1 "result":1 "re${s}ult":2 "Error":{} "ID":2 "\u0069d":2`.split(
    ' ',
  )) {
    const error = refusal(`{"jsonrpc":"2.0","id":1,"result":1,${members}}`)
    assert.deepEqual([error.code, error.id], ['FRAME_AMBIGUOUS', undefined], members)
  }
})

test('of two ids neither is answered, wherever the ambiguity was found', () => {
  for (const members of ['"id":2', '"ID":2', '"Id":3', '"i\\u0064":2', '"id\\u0000":2']) {
    assert.equal(refusal(call('envelope', members)).id, undefined, members)
    assert.equal(refusal(call('envelope', `"Method":"x",${members}`)).id, undefined, members)
  }
})

const many = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":0`).join()

test('an object that is routed by has a limit of members, and one past it', () => {
  const params = (count: number): string => `{"jsonrpc":"2.0","id":7,"method":"m","params":{${many(count)}}}`
  frameOf(params(1024))
  const error = refusal(params(1025))
  assert.deepEqual([error.code, error.id], ['FRAME_TOO_LARGE', '7'])
  frameOf(`{"jsonrpc":"2.0","id":7,"method":"m","params":{"arguments":{${many(5000)}}}}`)
})

const results: [title: string, result: string, found: readonly string[]][] = [
  ['nothing', '{}', []],
  ['other names, and these further inside', '{"tasks":{"task":1},"a":[{"ttlMs":1}],"tas":2}', []],
  ['some of them', '{ "task" : "x" , "a":1, "_meta":{"b":{}}}', ['task "x"', '_meta {"b":{}}']],
  ['one twice', '{"ttlMs":1,"task":2,"ttlMs":3}', ['ttlMs 1', 'task 2', 'ttlMs 3']],
  ['one with an escape in its key', '{"\\u0074ask":1,"ttlMs":2}', ['task 1', 'ttlMs 2']],
  ['an escape in another key or in a value', '{"a\\n":"\\u0074ask"}', []],
]

test('a result is read with its members of the names that the proxy acts on, of two the last', () => {
  for (const [title, result, found] of results) {
    const line = toLine(`{"jsonrpc":"2.0","id":7,"result":${result}}`)
    const frame = readFrame(line)
    assert(frame.kind === 'result' && frame.members !== undefined)
    const { members } = frame
    const shown = [...members].flatMap(({ value }, index) => {
      const name = members.name(index)
      return name === undefined ? [] : [[name, rawAt(line, value)]]
    })
    const seen = shown.map((pair) => pair.join(' '))
    assert.deepEqual(seen, found, title)
    for (const [name = '', value] of new Map(shown.map(([name = '', value]) => [name, value])))
      assert.equal(text(frame, members.span(name)), value, title)
  }
})

const repeated = (count: number): string =>
  `{"jsonrpc":"2.0","id":7,"result":{${'"task":1,'.repeat(count - 1)}"a":1}}`

test('a result whose members are looked at has a limit of members, and one past it', () => {
  readFrame(toLine(repeated(1024)))
  assert.throws(() => readFrame(toLine(repeated(1025))), { code: 'FRAME_TOO_LARGE' })
})

test('a result that is no object has no members', () => {
  for (const result of ['[{"task":1}]', 'null']) {
    const frame = frameOf(`{"jsonrpc":"2.0","id":7,"result":${result}}`)
    assert(frame.kind === 'result' && frame.members === undefined, result)
  }
})

const firsts: [text: string, batch: boolean][] = [
  ['[', true],
  [' \t\r\n[1]', true],
  ['{', false],
  ['', false],
  ['x[', false],
]

test('a batch is known by its first byte', () => {
  for (const [line, batch] of firsts) assert.equal(isBatch(toLine(line)), batch, line)
})
