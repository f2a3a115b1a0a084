// Captured frames: how they are cut, what the ring keeps, and what a row and a frame show of them.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { describe, test } from 'node:test'
import { KEPT_BYTES_MAX } from '../../src/inspector/kept-edits.js'
import { summaryOf } from '../../src/inspector/frame-facts.js'
import { frameView } from '../../src/inspector/frame-view.js'
import type { FrameView } from '../../src/inspector/protocol.js'
import type { CapturedFrame } from '../../src/inspector/ring.js'
import { Scene, client, edit, server } from './support.js'

function frameAt(scene: Scene, n: number): CapturedFrame {
  const frame = scene.ring.get(n)
  assert(frame !== undefined)
  return frame
}

function viewOf(scene: Scene, n: number): FrameView {
  return frameView(frameAt(scene, n), scene.ring, scene.redactor)
}

describe('a captured stream', () => {
  const cases: [title: string, chunks: readonly string[], frames: readonly string[]][] = [
    ['one line in one chunk', ['a\n'], ['a\n']],
    ['two lines in one chunk', ['a\nb\n'], ['a\n', 'b\n']],
    ['a line in three chunks', ['a', 'b', 'c\nd\n'], ['abc\n', 'd\n']],
    ['line ends of Windows', ['a\r', '\nb'], ['a\r\n']],
  ]
  for (const [title, chunks, frames] of cases)
    test(`is cut into its lines: ${title}`, () => {
      const scene = new Scene()
      for (const chunk of chunks) {
        scene.wire(client, 'in', chunk)
        scene.wire(server, 'out', 'another\n')
      }
      const own = scene.frames.filter((frame) => frame !== 'another\n')
      assert.deepEqual(own, frames)
    })

  test('keeps the beginning of a line past the limit, and its size', () => {
    const scene = new Scene()
    const long = 'x'.repeat(KEPT_BYTES_MAX)
    for (const text of [long.slice(1), '\n', long, 'y\n']) scene.wire(client, 'in', text)
    scene.wire(client, 'in', `${long}y`, { whole: true })
    const all = [1, 2, 3].map((n) => frameAt(scene, n))
    const sizes = all.map(({ bytes, size }) => [bytes.length, size])
    assert.deepEqual(sizes, [
      [KEPT_BYTES_MAX, KEPT_BYTES_MAX],
      [KEPT_BYTES_MAX, KEPT_BYTES_MAX + 2],
      [KEPT_BYTES_MAX, KEPT_BYTES_MAX + 1],
    ])
    const cuts = all.map((frame) => scene.rowOf(frame).cut)
    assert.deepEqual(cuts, [undefined, true, true])
  })

  test('keeps none of the memory past the limit of a line in one large piece', () => {
    const scene = new Scene()
    const large = 'x'.repeat(10 * KEPT_BYTES_MAX)
    for (const text of [`${large}\n`, large, '\n']) scene.wire(server, 'out', text)
    for (const n of [1, 2]) assert(frameAt(scene, n).bytes.buffer.byteLength <= KEPT_BYTES_MAX)
  })

  test('begins anew once its connection has ended', () => {
    const scene = new Scene()
    scene.wire(client, 'in', 'half')
    scene.capture.ended(client.connection)
    scene.wire(client, 'in', 'a\n')
    assert.deepEqual(scene.frames, ['a\n'])
  })
})

test('the ring drops the oldest one past its number', () => {
  const scene = new Scene({ framesMax: 3, bytesMax: 1e6 })
  for (const text of 'abcd') scene.wire(client, 'in', `${text}\n`)
  assert.deepEqual(scene.frames, ['b\n', 'c\n', 'd\n'])
})

test('the ring drops the oldest ones past its bytes, round after round', () => {
  const scene = new Scene({ framesMax: 100, bytesMax: 512 * 1024 })
  const texts = Array.from({ length: 40 }, (_, n) => `${n} ${'x'.repeat(((n * 7919) % 60_000) + 1)}\n`)
  let all = ''
  for (const text of texts) {
    scene.wire(client, 'in', text)
    all += text
    assert(all.endsWith(scene.frames.join('')))
    assert(scene.ring.bytes <= 512 * 1024)
  }
  assert(scene.ring.first > 1)
  scene.ring.clear()
  assert.deepEqual([scene.ring.bytes, scene.ring.first, scene.ring.next], [0, 41, 41])
})

const big = 'x'.repeat(KEPT_BYTES_MAX)

const cases: [frame: string, facts: object][] = [
  ['{"jsonrpc":"2.0","id":1.0,"method":"m"}', { kind: 'request', id: '1.0', method: 'm' }],
  [
    '{"method":"tools/call","params":{"name":"t"},"jsonrpc":"2.0","id":"a"}',
    { kind: 'request', id: '"a"', method: 'tools/call', name: 't' },
  ],
  [
    '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"editor"}}}',
    { kind: 'request', id: '0', method: 'initialize', name: 'editor' },
  ],
  ['{"jsonrpc":"2.0","method":"n"}', { kind: 'notification', method: 'n' }],
  ['{"jsonrpc":"2.0","id":1,"result":{}}', { kind: 'result', id: '1' }],
  ['{"jsonrpc":"2.0","id":1,"result":{"isError":true}}', { kind: 'result', id: '1', failed: true }],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}', { kind: 'error', id: '1', failed: true }],
  ['[{"jsonrpc":"2.0","method":"n"}]', { kind: 'batch' }],
  ['Debugger attached.', { kind: 'other' }],
  [`{"jsonrpc":"2.0","id":7,"method":"m","params":["${big}"]}`, { kind: 'request', id: '7', method: 'm' }],
  [`{"jsonrpc":"2.0","id":7,"error":{"message":"${big}"}}`, { kind: 'error', id: '7', failed: true }],
  [`{"result":{"a":"${big}"},"jsonrpc":"2.0","id":8}`, { kind: 'result' }],
  [
    `{"method":"tools/call","params":{"name":"é","arguments":{"a":"${big}"}},"jsonrpc":"2.0","id":8}`,
    { kind: 'request', method: 'tools/call', name: 'é' },
  ],
  [
    `{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"${big}"}}`,
    { kind: 'notification', method: 'notifications/message' },
  ],
]
for (const [text, facts] of cases)
  test(`the facts of a frame: ${text.slice(0, 60)}`, () => {
    const scene = new Scene()
    scene.wire(client, 'in', `${text}\n`)
    assert.deepEqual(summaryOf(frameAt(scene, 1)).facts, facts)
  })

const rows: [text: string, want: string][] = [
  ['{"jsonrpc":"2.0","id":1,"method":"m","params":{"arguments":{"a":1}}}', '{"a":1}'],
  ['{"jsonrpc":"2.0","method":"m","params":{"progress":1}}', '{"progress":1}'],
  ['{"jsonrpc":"2.0","method":"m"}', ''],
  ['{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}', '{"tools":[]}'],
  ['{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"m"}}', '{"code":1,"message":"m"}'],
  ['Debugger attached.', 'Debugger attached.'],
  [`{"method":"m","params":{"name":"n","arguments":{"a":"${big}"}}}`, `{"a":"${big.slice(0, 154)}`],
  [`{"method":"m","params":{"b":"${big}"}}`, `{"b":"${big.slice(0, 154)}`],
]
for (const [text, want] of rows)
  test(`the text of a row: ${text.slice(0, 60)}`, () => {
    const scene = new Scene()
    scene.wire(client, 'in', `${text}\n`)
    assert.equal(scene.rowOf(frameAt(scene, 1)).text, want)
  })

function marked(side: FrameView['input']): unknown {
  return side?.segments?.flatMap(({ text, why }) => (why ? [[why, text]] : []))
}

describe('a frame', () => {
  const call =
    '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"files__r","arguments":{"é":1}}}'
  const out = call.replace('files__r', 'r').replace('"id":1', '"id":1000')
  const edits = [edit(call, '1,"method"', '1000,"method"', 'id'), edit(call, 'files__r', 'r', 'name')]

  function forwarded(): Scene {
    const scene = new Scene()
    scene.wire(client, 'in', `${call}\n`)
    scene.wire({ ...client, connection: 9 }, 'in', `${call.replace('files__r', 'files__x')}\n`)
    scene.forward(server, call, ...edits)
    scene.wire(server, 'out', '{"jsonrpc":"2.0","method":"own"}\n')
    scene.wire(server, 'out', `${out}\n`)
    return scene
  }

  test('that left has its edits, and the frame that came in', () => {
    const view = viewOf(forwarded(), 4)
    const facts = [view.other, view.row.edits, view.input?.conn, view.output?.service]
    assert.deepEqual(facts, [1, ['id', 'name'], 1, 'files'])
    assert.deepEqual(marked(view.input), [
      ['id', '1,"method"'],
      ['name', 'files__r'],
    ])
    assert.deepEqual(marked(view.output), [
      ['id', '1000,"method"'],
      ['name', 'r'],
    ])
    assert.equal(view.input?.segments?.map(({ text }) => text).join(''), call)
    assert.equal(view.output?.segments?.map(({ text }) => text).join(''), out)
  })

  test('that came in shows what left for it', () => {
    const view = viewOf(forwarded(), 1)
    assert.deepEqual([view.other, view.output?.service, view.row.edits], [4, 'files', undefined])
  })

  test('that was forwarded without an edit is found by its bytes', () => {
    const scene = new Scene()
    scene.wire(server, 'in', `${call}\n`)
    scene.wire(client, 'out', `${call}\n`)
    assert.deepEqual([viewOf(scene, 1).other, viewOf(scene, 2).other], [2, 1])
  })

  test('of the proxy itself has no input', () => {
    const view = viewOf(forwarded(), 3)
    assert.deepEqual([view.input, view.other, view.row.edits], [undefined, undefined, undefined])
  })

  test('of the proxy itself shows the edits of the items in it', () => {
    const scene = new Scene()
    const items = ['{"name":"r","description":"d"}', '{"name":"w"}', '{"description":"e","name":"s"}']
    const outs = items.map((item) => item.replace(/"name":"(\w)"/, '"name":"files__$1"'))
    for (const [at, item] of items.entries()) {
      const name = /"\w"(?=\}|,"description)/.exec(item)?.[0] ?? ''
      scene.forward(
        { ...client, connection: at === 1 ? 9 : 1 },
        item,
        edit(item, name, `"files__${name.slice(1)}`, 'name'),
      )
    }
    scene.wire(client, 'out', `{"jsonrpc":"2.0","id":1,"result":{"tools":[${outs.join(',')}]}}\n`)
    const { input, output } = viewOf(scene, 1)
    assert.equal(input, undefined)
    assert.deepEqual(marked(output), [
      ['name', '"files__r"'],
      ['name', '"files__s"'],
    ])
  })

  test('of a client is not taken for that of another', () =>
    assert.equal(viewOf(forwarded(), 2).output, undefined))

  test('that is no text has bytes', () => {
    const scene = new Scene()
    scene.wire(client, 'in', Buffer.from([0xff, 0x0a]))
    assert.deepEqual(viewOf(scene, 1).input, {
      hop: 'client',
      conn: 1,
      base64: '/w==',
      bytes: 2,
      keptBytes: 1,
    })
  })
})
