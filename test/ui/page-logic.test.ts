// The parts of the inspector's page that need no browser.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { editReasons } from '../../src/index.js'
import type { FrameRow } from '../../src/inspector/protocol.js'
import { jsonLines, visibleLines } from '../../src/ui/json-lines.js'
import { rangesOf } from '../../src/ui/ranges.js'
import { grouped } from '../../src/ui/usage-groups.js'
import { type Filter, RowsStore, noFilter } from '../../src/ui/rows-store.js'
import { reasons } from '../../src/ui/reasons.js'
import { bytesText, hexText, short, timeText, visible } from '../../src/ui/text.js'

const base = { hop: 'client', schema: 'default', conn: 1, bytes: 10, text: '' } as const

function request(n: number, id: string, more: Partial<FrameRow> = {}): FrameRow {
  return { ...base, n, at: n, dir: 'in', kind: 'request', id, method: 'tools/call', ...more }
}

function result(n: number, id: string, more: Partial<FrameRow> = {}): FrameRow {
  return { ...base, n, at: n, dir: 'out', kind: 'result', id, ...more }
}

describe('the rows', () => {
  test('of answers know their requests, by connection, direction and id', () => {
    const store = new RowsStore()
    store.take({
      frames: [
        request(1, '1', { name: 'a__x' }),
        request(2, '1', { conn: 2, name: 'b' }),
        request(3, '1', { dir: 'out', method: 'ping' }),
        result(5, '1', { conn: 2 }),
        result(9, '1'),
        result(10, '1', { dir: 'in' }),
        result(11, '1'),
      ],
    })
    const answers = store.rows.slice(3).map(({ about, ms }) => [about, ms])
    assert.deepEqual(answers, [
      ['tools/call b', 3],
      ['tools/call a__x', 8],
      ['ping', 7],
      [undefined, undefined],
    ])
  })

  test('past 50,000 leave, with what is shown of them', () => {
    const store = new RowsStore()
    for (let n = 1; n <= 50_001; n += 1000)
      store.take({ frames: Array.from({ length: 1000 }, (_, at) => request(n + at, String(n + at))) })
    assert.deepEqual([store.rows.length, store.shown.length, store.rows[0]?.n], [46_000, 46_000, 5001])
    store.take({ frames: [request(5, '5')] })
    assert.equal(store.rows.length, 46_000)
  })

  test('that are older come before the others, and answer their requests', () => {
    const store = new RowsStore()
    store.take({ frames: [result(9, '1', { failed: true })] })
    store.take({ older: [request(3, '2'), request(4, '1', { name: 'a__x' })] })
    store.take({ older: [request(1, '3')] })
    assert.deepEqual(
      store.shown.map(({ n, about }) => [n, about]),
      [
        [1, undefined],
        [3, undefined],
        [4, undefined],
        [9, 'tools/call a__x'],
      ],
    )
    assert.equal(store.errors, 1)
  })

  const rows = [
    request(1, '1', { method: 'initialize', name: 'editor' }),
    request(2, '2', { name: 'a__x', text: '{"Needle":1}' }),
    result(3, '2', { failed: true }),
    request(4, '1', { hop: 'upstream', service: 'a', conn: 3, dir: 'out', schema: 'other' }),
  ]
  const filters: [filter: Partial<Filter>, shown: readonly number[]][] = [
    [{}, [1, 2, 3, 4]],
    [{ server: 'a' }, [4]],
    [{ schema: 'other' }, [4]],
    [{ client: '1 editor' }, [1, 2, 3]],
    [{ method: 'tools/call' }, [2, 3, 4]],
    [{ errors: true }, [3]],
    [{ text: 'nEEdle' }, [2]],
    [{ text: 'a__x' }, [2, 3]],
  ]
  for (const [filter, shown] of filters)
    test(`are filtered by ${JSON.stringify(filter)}`, () => {
      const store = new RowsStore()
      store.take({ frames: rows.slice(0, 2) })
      store.setFilter({ ...noFilter, ...filter })
      store.take({ frames: rows.slice(2) })
      assert.deepEqual(
        store.shown.map(({ n }) => n),
        shown,
      )
    })
})

describe('a tree of JSON', () => {
  test('has the text as it is written', () => {
    const text = '{ "a" : [1.0, "\\u0041:", {}] ,"b":null}\n'
    const lines = jsonLines(text) ?? []
    assert.deepEqual(
      lines.map(({ depth, key, value, below }) => [
        depth,
        text.slice(key.start, key.end),
        text.slice(value.start, value.end),
        below,
      ]),
      [
        [0, '', '{', 8],
        [1, '"a"', '[', 5],
        [2, '', '1.0', 0],
        [2, '', '"\\u0041:"', 0],
        [2, '', '{', 1],
        [2, '', '}', 0],
        [1, '', ']', 0],
        [1, '"b"', 'null', 0],
        [0, '', '}', 0],
      ],
    )
    assert.deepEqual(visibleLines(lines, new Set([1])), [0, 1, 7, 8])
    assert.deepEqual(visibleLines(lines, new Set([0])), [0])
  })

  for (const text of ['', '{"a":1', 'a]', '{"a":"', `[${'1,'.repeat(50_001)}1]`])
    test(`is none: ${text.slice(0, 20)}`, () => {
      assert.equal(jsonLines(text), undefined)
    })
})

test('text of strangers turns nothing round and hides nothing', () => {
  assert.equal(visible('a\u202eb\u200b\u0007<img>'), 'a\\u{202e}b\\u{200b}\\u{7}<img>')
  assert.equal(short('a\nb'.repeat(3), 5), 'a ba …')
})

test('every reason of an edit is explained', () => {
  assert.deepEqual(Object.keys(reasons).toSorted(), editReasons.toSorted())
})

test('numbers and bytes have forms for people', () => {
  assert.deepEqual([bytesText(9999), bytesText(19_400), bytesText(12e6)], ['9999 B', '19 kB', '12 MB'])
  assert.deepEqual([timeText(61_005), timeText(3_600_000)], ['01:01.005', '1:00:00.000'])
  assert.equal(
    hexText(btoa('\u0000A~\u007f')),
    '00000000  00 41 7e 7f                                      .A~.',
  )
})

test('usage is grouped, with the quantiles of all members', () => {
  const row = {
    schema: 'default',
    server: 's',
    client: 'c',
    view: '',
    errors: 0,
    argumentBytes: 100,
    resultBytes: 300,
  }
  const rows = [
    { ...row, what: 'a', calls: 90, times: [[1, 90]] as const },
    {
      ...row,
      what: 'b',
      schema: 'work',
      calls: 10,
      errors: 2,
      times: [
        [50, 4],
        [400, 6],
      ] as const,
    },
  ]
  const [all] = grouped(rows, 'client')
  assert.deepEqual(all, {
    name: 'c',
    calls: 100,
    errors: 2,
    p50: 1,
    p95: 400,
    argumentBytes: 200,
    resultBytes: 600,
    tokens: 200,
  })
  assert.deepEqual(
    grouped(rows, 'tool').map(({ name }) => name),
    ['a', 'work/b'],
  )
})

test('numbers are named as ranges', () => {
  assert.deepEqual([rangesOf([]), rangesOf([7, 3, 1, 2]), rangesOf([5])], ['', '1-3,7', '5'])
})
