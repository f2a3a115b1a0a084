import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'node:test'
import type { Connection, MessageHead, Reply, Sink } from '../../src/jsonrpc/connection.js'
import { type FrameError, TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { type NotificationFrame, type RequestFrame, type ResponseFrame } from '../../src/jsonrpc/frame.js'
import { type Line, toLine } from '../../src/jsonrpc/line.js'
import { type PendingAnswer, Peer, type PeerOptions, type PeerOwner } from '../../src/jsonrpc/peer.js'
import { type RequestId, numericId, readId } from '../../src/jsonrpc/request-id.js'
import { LongLine, readLong } from '../../src/jsonrpc/long-line.js'
import { type Edit, splice, type Message } from '../../src/jsonrpc/splice.js'
import { headIn } from '../transports/support/sending.js'
import { errorOf, inTwoParts, notificationOf, requestOf, resultOf } from './support/frames.js'

class Entry {
  readonly name: string

  constructor(name: string) {
    this.name = name
  }
}

/** Records the calls of a peer to its owner, one line each. */
class Diary implements PeerOwner<Entry> {
  readonly events: string[] = []
  readonly requests: RequestFrame[] = []
  readonly responses: ResponseFrame[] = []
  closes = 0
  /** Called with each event. It may throw. */
  on: (event: string) => void = () => {}

  request(frame: RequestFrame, during: Entry | undefined): void {
    this.requests.push(frame)
    this.#add(`request ${frame.id} ${frame.method}${during === undefined ? '' : ` during ${during.name}`}`)
  }

  notification(frame: NotificationFrame, during: Entry | undefined): void {
    this.#add(`notification ${frame.method}${during === undefined ? '' : ` during ${during.name}`}`)
  }

  response(frame: ResponseFrame, entry: Entry): void {
    this.responses.push(frame)
    this.#add(`${frame.kind} ${frame.id} for ${entry.name}`)
  }

  stray(frame: ResponseFrame): void {
    this.#add(`stray ${frame.kind} ${frame.id}`)
  }

  batch(line: Line): void {
    this.#add(`batch ${line.toString()}`)
  }

  malformed(error: FrameError, line: Uint8Array): void {
    this.#add(`malformed ${error.code} ${line.length}`)
  }

  oversize(id: RequestId | undefined, entry: Entry | undefined, bytes: number): void {
    this.#add(`oversize ${id} for ${entry?.name} ${bytes}`)
  }

  failed(entry: Entry | undefined, error: TransportError): void {
    this.#add(`failed ${entry?.name} ${error.code}`)
  }

  drained(): void {
    this.#add('drained')
  }

  ended(): void {
    this.#add('ended')
  }

  closed(cause: TransportError | undefined): void {
    this.closes++
    this.#add(`closed ${cause?.code}`)
  }

  #add(event: string): void {
    this.events.push(event)
    this.on(event)
  }
}

class Script implements Connection {
  readonly congested = false
  readonly backlogBytes = 0
  readonly sent: string[] = []
  readonly heads: MessageHead[] = []
  /** Messages that were sent in parts. */
  readonly parts: string[][] = []
  closeCalls = 0
  sink: Sink | undefined

  start(sink: Sink): void {
    this.sink = sink
  }

  send(message: Message, head: MessageHead): void {
    const { parts } = message
    if (parts.length > 1) this.parts.push(parts.map((part) => Buffer.from(part).toString()))
    else this.sent.push(message.toString())
    this.heads.push(head)
  }

  read(): void {}

  close(): Promise<void> {
    this.closeCalls++
    return Promise.resolve()
  }

  says(text: string): void {
    this.sink?.message(toLine(text))
  }
}

interface Scene {
  readonly script: Script
  readonly diary: Diary
  readonly peer: Peer<Entry>
}

function scene(options: Partial<PeerOptions> = {}): Scene {
  const script = new Script()
  const diary = new Diary()
  const peer = new Peer(script, diary, { inflightMax: 3, ...options })
  peer.start()
  return { script, diary, peer }
}

function id(text: string): RequestId {
  return readId(toLine(text), 0, text.length)
}

function asked(peer: Peer<Entry>, method: string): PendingAnswer {
  return peer.ask(method) ?? assert.fail('nothing was asked')
}

const entry = new Entry('a')

const arrivals: [title: string, text: string, events: string[]][] = [
  ['a request', '{"jsonrpc":"2.0","id":"x","method":"m"}', ['request "x" m']],
  ['a notification', '{"jsonrpc":"2.0","method":"n"}', ['notification n']],
  ['an answer to nothing', '{"jsonrpc":"2.0","id":1,"result":{}}', ['stray result 1']],
  ['an error that names no request', '{"jsonrpc":"2.0","error":{}}', ['stray error undefined']],
  ['a batch', ' [{"a":1}]', ['batch  [{"a":1}]']],
  ['junk', 'junk', ['malformed FRAME_SYNTAX 4']],
  ['ambiguous names', '{"jsonrpc":"2.0","id":1,"method":"m","Method":"n"}', ['malformed FRAME_AMBIGUOUS 50']],
  ['white space only', ' \t', []],
]

test('hands each message to its owner', () => {
  for (const [title, text, events] of arrivals) {
    const { script, diary } = scene()
    script.says(text)
    assert.deepEqual(diary.events, events, title)
  }
})

/** Bytes that arrive while request 1 waits, and the first event at the owner. */
const answersAsTheyAre: [title: string, bytes: string | Buffer, event: string][] = [
  ['Latin-1', Buffer.from('{"jsonrpc":"2.0","id":1,"result":"\xe9"}', 'latin1'), 'failed a TRANSPORT_ANSWER'],
  ['in UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"result":"é"}', 'utf16le'), 'failed a TRANSPORT_ANSWER'],
  ['behind text', 'Ready. {"jsonrpc":"2.0","id":1,"result":{}}', 'failed a TRANSPORT_ANSWER'],
  ['behind a progress bar', '99%\r{"jsonrpc":"2.0","result":{},"id":1}', 'failed a TRANSPORT_ANSWER'],
  ['before text', '{"jsonrpc":"2.0","result":{},"id":1} npm notice', 'failed a TRANSPORT_ANSWER'],
  ['without its end', '{"jsonrpc":"2.0","id":1,"result":{"a":', 'failed a TRANSPORT_ANSWER'],
  ['without jsonrpc', '{"id":1,"result":{}}', 'failed a TRANSPORT_ANSWER'],
  ['with two outcomes', '{"jsonrpc":"2.0","id":1,"result":{},"error":null}', 'failed a TRANSPORT_ANSWER'],
  ['with the id as text', '{"jsonrpc":"2.0","id":"1","result":{}}', 'result "1" for a'],
  ['with a null id', '{"jsonrpc":"2.0","id":null,"error":{}}', 'error undefined for a'],
  ['without an id', '{"jsonrpc":"2.0","error":{}}', 'error undefined for a'],
  ['that is the request itself', 'got {"jsonrpc":"2.0","id":1,"method":"m"}', 'malformed FRAME_SYNTAX 41'],
  ['without an outcome', '{"jsonrpc":"2.0","id":1,"level":"info"}', 'malformed FRAME_ENVELOPE 39'],
  ['with the id of no request', '{"id":2,"result":{}}', 'malformed FRAME_ENVELOPE 20'],
]

test('an answer that can be recognised ends its request, however it is written', () => {
  for (const [title, bytes, event] of answersAsTheyAre) {
    const { script, diary, peer } = scene()
    peer.forward(requestOf('{"jsonrpc":"2.0","id":"c","method":"m"}'), [], entry)
    script.sink?.message(toLine(bytes))
    assert.equal(diary.events[0], event, title)
  }
})

test('an answer with two ids ends both requests', () => {
  const { script, diary, peer } = scene()
  for (const each of [entry, new Entry('b')])
    peer.forward(requestOf('{"jsonrpc":"2.0","id":"c","method":"m"}'), [], each)
  script.sink?.message(toLine('{"jsonrpc":"2.0","id":1,"id":2,"result":{}}'))
  assert.deepEqual(diary.events.slice(0, 2), ['failed a TRANSPORT_ANSWER', 'failed b TRANSPORT_ANSWER'])
})

test('an error without an id ends no request that it need not be about', () => {
  const { script, diary, peer } = scene()
  const frame = requestOf('{"jsonrpc":"2.0","id":"c","method":"m"}')
  const says = (): void => script.says('{"jsonrpc":"2.0","id":null,"error":{}}')
  peer.notify('n')
  peer.forward(frame, [], entry)
  says()
  peer.forward(frame, [], entry)
  says()
  assert.deepEqual(diary.events, ['stray error undefined', 'stray error undefined'])
})

test('an error without an id is forwarded with the id of its request', () => {
  const { script, peer } = scene()
  const frame = errorOf(' {"jsonrpc":"2.0","error":{}}')
  peer.answer(frame, [], id('"c"'))
  assert.deepEqual(script.sent, [' {"id":"c","jsonrpc":"2.0","error":{}}'])
})

test('forwards a request under an id of this connection, and its answer finds the entry', () => {
  const { script, diary, peer } = scene()
  const frame = requestOf('{"jsonrpc":"2.0", "id":"c","method":"m","params":{"n":1.0}}')
  assert.equal(peer.forward(frame, [], entry), '1')
  assert.deepEqual(script.sent, ['{"jsonrpc":"2.0", "id":1,"method":"m","params":{"n":1.0}}'])
  assert.equal(peer.entry(id('1')), entry)
  script.says('{"jsonrpc":"2.0","id":1.0,"result":{"big":12345678901234567890}}')
  assert.deepEqual(diary.events, ['result 1.0 for a'])
  assert.equal(peer.entry(id('1')), undefined)
  script.says('{"jsonrpc":"2.0","id":1,"result":{}}')
  assert.deepEqual(diary.events.at(-1), 'stray result 1')
})

test('the progress token of a request is its id, and a second request has other ones', () => {
  const { script, peer } = scene()
  const text = '{"jsonrpc":"2.0","id":1,"method":"m","params":{"_meta":{"progressToken":"t"}}}'
  const ids = [entry, new Entry('b')].map((each) => peer.forward(requestOf(text), [], each))
  assert.deepEqual(ids, ['1', '2'])
  assert.deepEqual(
    script.sent,
    ids.map((own) => text.replace('"id":1', `"id":${own}`).replace('"t"', String(own))),
  )
})

test('an answer goes back under the bytes of the id that its asker wrote', () => {
  const { script, peer } = scene()
  const frame = resultOf('{"jsonrpc":"2.0","result":{"x":1.0},"id":17}')
  peer.answer(frame, [], id('1.0'))
  peer.answer(frame, [{ start: 31, end: 34, bytes: Buffer.from('2'), why: 'name' }], id('"s"'))
  peer.answer(frame, [], id('17'))
  assert.deepEqual(script.sent, [
    '{"jsonrpc":"2.0","result":{"x":1.0},"id":1.0}',
    '{"jsonrpc":"2.0","result":{"x":2},"id":"s"}',
    '{"jsonrpc":"2.0","result":{"x":1.0},"id":17}',
  ])
})

test('the connection gets the same head of each message as a reader of its bytes', () => {
  const { script, peer } = scene({ inflightMax: 9 })
  const frame = requestOf('{"jsonrpc":"2.0","id":"c","method":"m"}')
  const cancel = notificationOf(
    '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}',
  )
  peer.forward(frame, [], entry)
  peer.forward(frame, [], entry)
  peer.ask('own')
  peer.askFor(frame, [])
  peer.pass(cancel, [], { cancels: id('1') })
  peer.notify('notifications/n', '{"x":1}')
  peer.reply(id('"a"'), '{}')
  peer.refuse(id('1.0'), { code: 1, message: 'm' })
  peer.refuse(undefined, { code: 1, message: 'm' })
  for (const [i, text] of script.sent.entries()) assert.deepEqual(script.heads[i], headIn(text), text)
  assert.equal(script.heads.length, 9)
})

test('what is about a request leaves on the way back of that request', () => {
  const { script, peer } = scene()
  const told: (string | undefined)[] = []
  const reply: Reply = {
    answer: () => assert.fail('it is not answered'),
    drop: () => {},
    tell: (_message, { method }) => void told.push(method),
    isCancelledByClosing: false,
  }
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry, reply)
  peer.notify('notifications/n', undefined, { reply })
  assert.deepEqual(told, ['m', 'notifications/n'])
  assert.deepEqual(script.sent, [])
})

test('no line break leaves, so nothing can hide behind one', () => {
  const forwards: { input: string; edits: string[]; output: string }[] = []
  const { script, peer } = scene({
    watch: {
      forwarded: (input, edits) =>
        forwards.push({
          input: input.toString(),
          edits: edits.map(({ why }) => why),
          output: splice(input, edits).toString(),
        }),
    },
  })
  const hidden = '{"jsonrpc":"2.0","id":9,"method":"tools/call"}'
  const text = `{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":\r${hidden}\n}}`
  peer.forward(requestOf(text), [], entry)
  peer.pass(notificationOf('{"jsonrpc":"2.0",\r"method":"n"}'), [])
  peer.item(toLine('{"name":\r"a"}'), [])
  const answer = resultOf('{"jsonrpc":"2.0","id":1,\r\n"result":{}}')
  peer.answer(answer, [], id('2'))
  assert.deepEqual(script.sent, [
    text.replace(/[\r\n]/g, ' '),
    '{"jsonrpc":"2.0", "method":"n"}',
    '{"jsonrpc":"2.0","id":2,  "result":{}}',
  ])
  const editLists = forwards.map(({ edits }) => edits)
  assert.deepEqual(editLists, [['line-safe'], ['line-safe'], ['line-safe'], ['id', 'line-safe']])
})

/** A result of some kilobytes that arrived in two parts. */
function longResult(idText: string, malformed = false): LongLine {
  return inTwoParts(
    `{"jsonrpc":"2.0","id":${idText},"result":"${'x'.repeat(20_000)}${malformed ? '\\x' : ''}"}`,
  )
}

function deliver({ sink }: Script, long: LongLine): void {
  assert.ok(sink !== undefined)
  sink.received?.(readLong(long))
}

/** Forwards the next answer. */
function forwarding({ diary }: Scene, to: Peer<Entry>, own: string): void {
  diary.on = () => {
    const frame = diary.responses.at(-1)
    if (frame !== undefined) to.answer(frame, [], id(own))
  }
}

test('a long result leaves in the parts in which it came, with another id between them', () => {
  const from = scene()
  const script = new Script()
  const to = new Peer<Entry>(script, new Diary(), { inflightMax: 3 })
  from.peer.forward(requestOf('{"jsonrpc":"2.0","id":7,"method":"m"}'), [], entry)
  forwarding(from, to, '"own"')
  const text = longResult('1').line.toString()
  const long = longResult('1')
  Object.defineProperty(long, 'line', { get: () => assert.fail('it was joined') })
  deliver(from.script, long)
  assert.deepEqual(from.diary.events, ['result 1 for a'])
  assert.deepEqual(script.parts, [
    ['{"jsonrpc":"2.0","id":', '"own"', text.slice(23, 3000), text.slice(3000)],
  ])
})

test('a long result is sent in one piece when the wire is watched', () => {
  const inputs: string[] = []
  const script = new Script()
  const from = scene()
  const to = new Peer<Entry>(script, new Diary(), {
    inflightMax: 3,
    watch: { forwarded: (input) => void inputs.push(input.toString()) },
  })
  from.peer.forward(requestOf('{"jsonrpc":"2.0","id":7,"method":"m"}'), [], entry)
  forwarding(from, to, '7')
  deliver(from.script, longResult('1'))
  const found = [...script.sent, ...script.parts.map((parts) => parts.join(''))]
  assert.deepEqual(found, [longResult('7').line.toString()])
  assert.deepEqual(inputs, [longResult('1').line.toString()])
})

test('a long message that is not in order is refused as a short one is', () => {
  const { script, diary } = scene()
  const long = longResult('1', true)
  deliver(script, long)
  assert.deepEqual(diary.events, [`malformed FRAME_SYNTAX ${long.length}`])
})

test('the forward tap sees what recomputes the output, and nothing of what the proxy says itself', () => {
  const seen: string[] = []
  const outputs: string[] = []
  const { script, peer } = scene({
    watch: {
      forwarded: (input, edits) => {
        outputs.push(splice(input, edits).toString())
        seen.push(edits.map(({ why, start, end }) => `${why} ${start}-${end}`).join())
      },
    },
  })
  const frame = requestOf('{"jsonrpc":"2.0","id":5,"method":"m","params":{"name":"x"}}')
  const edit: Edit = { start: 54, end: 57, bytes: Buffer.from('"y"'), why: 'name' }
  peer.forward(frame, [edit], entry)
  peer.pass(notificationOf('{"jsonrpc":"2.0","method":"n"}'), [])
  peer.notify('own')
  peer.ask('own')
  assert.deepEqual(seen, ['id 22-23,name 54-57', ''])
  assert.deepEqual(script.sent.slice(0, 2), outputs)
})

test('mints nothing past the limit, and for own requests twice as many', () => {
  const { script, peer } = scene({ inflightMax: 2 })
  const frame = requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}')
  const forwarded = (): string | undefined => peer.forward(frame, [], entry)
  const asked = (): string | undefined => peer.ask('ping')?.id
  assert.deepEqual([forwarded(), forwarded(), forwarded()], ['1', '2', undefined])
  assert.deepEqual([asked(), asked(), asked()], ['3', '4', undefined])
  assert.equal(script.sent.length, 4)
  script.says('{"jsonrpc":"2.0","id":3.0,"result":{}}')
  assert.deepEqual([forwarded(), asked(), asked()], [undefined, '5', undefined])
  script.says('{"jsonrpc":"2.0","id":1,"result":{}}')
  assert.deepEqual([forwarded(), asked(), asked()], [undefined, '6', undefined])
  for (const id of [4, 5, 6]) peer.retire(numericId(id))
  assert.deepEqual([forwarded(), forwarded()], ['7', undefined])
})

test('an own request gets its answer, also when that is an error', async () => {
  const { script, diary, peer } = scene()
  const ping = asked(peer, 'ping')
  const list = peer.ask('list', '{"cursor":"x"}') ?? assert.fail()
  assert.deepEqual(script.sent, [
    '{"jsonrpc":"2.0","id":1,"method":"ping"}',
    '{"jsonrpc":"2.0","id":2,"method":"list","params":{"cursor":"x"}}',
  ])
  assert.equal(peer.entry(ping.id), undefined)
  script.says('{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":""}}')
  script.says('{"jsonrpc":"2.0","id":1,"result":{}}')
  assert.equal((await ping.answer).kind, 'result')
  assert.equal((await list.answer).kind, 'error')
  assert.deepEqual(diary.events, [])
})

test('a retired request has no entry, and its late answer is a stray', () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  peer.retire(id('1'))
  assert.equal(peer.entry(id('1')), undefined)
  script.says('{"jsonrpc":"2.0","id":1,"result":{}}')
  assert.deepEqual(diary.events, ['stray result 1'])
})

test('the end of the connection settles everything once', async () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  const ping = asked(peer, 'ping')
  script.sink?.closed(undefined)
  script.sink?.closed(undefined)
  await assert.rejects(ping.answer, { name: 'TransportError', code: 'TRANSPORT_CLOSED' })
  await peer.close()
  assert.deepEqual(diary.events, ['closed undefined'])
  assert.equal(peer.open, false)
})

test('after the end nothing is sent, nothing is minted and nothing is handed on', () => {
  const { script, diary, peer } = scene()
  script.sink?.closed(undefined)
  const frame = requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}')
  assert.equal(peer.forward(frame, [], entry), undefined)
  assert.equal(peer.ask('ping'), undefined)
  peer.notify('n')
  peer.reply(id('1'), '{}')
  peer.refuse(id('1'), { code: 1, message: '' })
  script.says('{"jsonrpc":"2.0","method":"n"}')
  peer.receive(frame)
  assert.deepEqual(script.sent, [])
  assert.deepEqual(diary.events, ['closed undefined'])
})

test('an own request whose promise is ignored does not end the process', async () => {
  const { peer } = scene()
  asked(peer, 'ping')
  await peer.close()
  await turn()
})

test('close waits for the connection and tells the owner, even when the connection fails', async () => {
  const { script, diary, peer } = scene()
  script.close = () => Promise.reject(new Error('cannot close'))
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  await assert.rejects(peer.close(), /cannot close/)
  assert.deepEqual(diary.events, ['closed undefined'])
})

test('a message over the limit settles the request that it answers', async () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  const ping = asked(peer, 'ping')
  script.sink?.oversize(id('1'), 100, false)
  script.sink?.oversize(id('2'), 100, false)
  script.sink?.oversize(undefined, 100, false)
  await assert.rejects(ping.answer, { name: 'TransportError' })
  assert.deepEqual(diary.events, ['oversize undefined for a 100', 'oversize undefined for undefined 100'])
})

test('a request over the limit settles nothing, though its id is one of ours', () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  script.sink?.oversize(id('1'), 100, true)
  assert.deepEqual(diary.events, ['oversize 1 for undefined 100'])
  assert.equal(peer.entry(id('1')), entry)
})

test('a message that was not sent settles its request, and other requests continue', async () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  const ping = asked(peer, 'ping')
  const error = new TransportError('TRANSPORT_IO', 'no')
  script.sink?.failed?.(id('1'), error)
  script.sink?.failed?.(id('1'), error)
  script.sink?.failed?.(undefined, error)
  script.sink?.failed?.(ping.id, error)
  await assert.rejects(ping.answer, error)
  assert.deepEqual(diary.events, [
    'failed a TRANSPORT_IO',
    'failed undefined TRANSPORT_IO',
    'failed undefined TRANSPORT_IO',
  ])
  assert.equal(peer.open, true)
})

test('what comes on the stream of one of our requests is told together with it', () => {
  const { script, diary, peer } = scene()
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  const ping = asked(peer, 'ping')
  script.sink?.message(toLine('{"jsonrpc":"2.0","method":"n"}'), id('1'))
  script.sink?.message(toLine('{"jsonrpc":"2.0","id":5,"method":"m"}'), id('1'))
  script.sink?.message(toLine('{"jsonrpc":"2.0","method":"n"}'), ping.id)
  script.sink?.message(toLine('{"jsonrpc":"2.0","method":"n"}'), id('"unknown"'))
  assert.deepEqual(diary.events, [
    'notification n during a',
    'request 5 m during a',
    'notification n',
    'notification n',
  ])
})

test('a forward tap that throws closes the connection, and the message does not leave', () => {
  const { script, diary, peer } = scene({
    watch: {
      forwarded: () => {
        throw new Error('disk full')
      },
    },
  })
  peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
  assert.deepEqual(script.sent, [])
  assert.deepEqual(diary.events, ['closed TRANSPORT_TAP'])
  assert.equal(script.closeCalls, 1)
})

const callbacks: [title: string, provoke: (scene: Scene) => void][] = [
  ['request', ({ script }) => script.says('{"jsonrpc":"2.0","id":1,"method":"m"}')],
  ['notification', ({ script }) => script.says('{"jsonrpc":"2.0","method":"m"}')],
  ['response', ({ script }) => script.says('{"jsonrpc":"2.0","id":1,"result":1}')],
  ['stray', ({ script }) => script.says('{"jsonrpc":"2.0","id":2,"result":1}')],
  ['batch', ({ script }) => script.says('[1]')],
  ['malformed', ({ script }) => script.says('junk')],
  ['oversize', ({ script }) => script.sink?.oversize(undefined, 1, false)],
  ['failed', ({ script }) => script.sink?.failed?.(undefined, new TransportError('TRANSPORT_IO', ''))],
  ['drained', ({ script }) => script.sink?.drained()],
  ['ended', ({ script }) => script.sink?.ended()],
]

test("an exception in an owner's callback ends its connection and goes no further", () => {
  for (const [title, provoke] of callbacks) {
    const here = scene()
    here.diary.on = () => {
      throw new Error('a fault')
    }
    here.peer.forward(requestOf('{"jsonrpc":"2.0","id":1,"method":"m"}'), [], entry)
    provoke(here)
    assert.equal(here.diary.closes, 1, title)
    assert.match(here.diary.events.at(-1) ?? '', /^closed TRANSPORT_IO$/, title)
    assert.equal(here.script.closeCalls, 1, title)
    assert.equal(here.peer.open, false, title)
  }
})

test('an exception while hearing of the end goes no further either, and is reported', () => {
  const faults: unknown[] = []
  const { script, diary } = scene({ watch: { onFault: (error) => faults.push(error) } })
  diary.on = () => {
    throw new Error('a fault')
  }
  script.sink?.closed(undefined)
  assert.equal(diary.closes, 1)
  assert.match(String(faults), /a fault/)
})
