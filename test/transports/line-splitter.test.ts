import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { test } from 'node:test'
import { joinedLine } from '../../src/jsonrpc/long-line.js'
import { LineSplitter } from '../../src/transports/stdio/line-splitter.js'
import { costRatio } from '../support/processor-time.js'

/** The events of a splitter for `text` in chunks of `size`. */
function split(text: string | Buffer, size: number, lineBytesMax = 1000): string[] {
  const said: string[] = []
  const splitter = new LineSplitter(
    {
      line: (read) => {
        const line = joinedLine(read)
        assert.equal(Buffer.from(line.buffer, line.byteOffset + line.length, 1)[0], 0x0a)
        said.push(line.toString('latin1'))
      },
      oversize: (id, bytes, isCall) => said.push(`OVERSIZE ${id} ${bytes} ${isCall}`),
    },
    lineBytesMax,
  )
  const bytes = typeof text === 'string' ? Buffer.from(text, 'latin1') : text
  for (let at = 0; at < bytes.length; at += size) splitter.push(Buffer.from(bytes.subarray(at, at + size)))
  splitter.end()
  assert.equal(splitter.pendingBytes, 0)
  return said
}

const x = (length: number): string => 'x'.repeat(length)
const call = `{"id":7,"method":"m","params":"${x(1000)}"}`
/** The event for a line of one byte too much. */
const past = 'OVERSIZE undefined 1001 false'
const answer = `{"result":"${x(1000)}","id":"a"}`

const cases: [title: string, text: string, lines: string[]][] = [
  ['nothing', '', []],
  ['one line', 'a\n', ['a']],
  ['two lines', 'a\nbb\n', ['a', 'bb']],
  ['a last line without a line feed', 'a\nbb', ['a', 'bb']],
  ['blank lines', '\n\na\n\r\n\n', ['a']],
  ['line ends of Windows', 'a\r\nb\r\n', ['a', 'b']],
  ['a last line that ends in CR', 'a\r', ['a']],
  ['only the last CR belongs to the end', 'a\r\r\nb\rc\n\r\r\n', ['a\r', 'b\rc', '\r']],
  ['white space is not blank', ' \n\t\r\n', [' ', '\t']],
  [
    'what other readers take for a line end',
    'a\x85b\x0bc\x0cd\xe2\x80\xa8e\xe2\x80\xa9f\n',
    ['a\x85b\x0bc\x0cd\xe2\x80\xa8e\xe2\x80\xa9f'],
  ],
  ['the limit', `${x(1000)}\n`, [x(1000)]],
  ['one below it', `${x(999)}\n`, [x(999)]],
  ['one past it', `${x(1001)}\na\n`, ['OVERSIZE undefined 1001 false', 'a']],
  ['two lines near the limit', `${x(999)}\n${x(1000)}\n`, [x(999), x(1000)]],
  ['one past it between two', `${x(1000)}\n${x(1001)}\n${x(1000)}\n`, [x(1000), past, x(1000)]],
  ['a long call', `${call}\nb\n`, [`OVERSIZE 7 ${call.length} true`, 'b']],
  ['a long answer', `${answer}\n`, [`OVERSIZE "a" ${answer.length} false`]],
  ['a long last line without a line feed', `a\n${answer}`, ['a', `OVERSIZE "a" ${answer.length} false`]],
]

test('the lines are the same for all chunks', () => {
  for (const [title, text, lines] of cases)
    for (const size of [1, 2, 3, 7, 999, 1000, 1001, 1002, 64 * 1024])
      assert.deepEqual(split(text, size), lines, `${title}, in chunks of ${size}`)
})

test('a line inside one chunk is a view on it; a chunk may be reused once its lines are joined', () => {
  const chunk = Buffer.from('a\nb')
  const lines: Buffer[] = []
  const splitter = new LineSplitter(
    { line: (line) => lines.push(joinedLine(line)), oversize: () => {} },
    1000,
  )
  splitter.push(chunk)
  splitter.push(Buffer.from('c\nd'))
  splitter.push(Buffer.from('e\n'))
  assert.equal(lines[0]?.buffer, chunk.buffer)
  assert.deepEqual(lines.map(String), ['a', 'bc', 'de'], 'a joined line keeps its bytes')
})

test('an oversize line is not kept while it arrives', () => {
  const splitter = new LineSplitter({ line: () => {}, oversize: () => {} }, 64 * 1024)
  const before = process.memoryUsage().rss
  for (let i = 0; i < 4000; i++) splitter.push(Buffer.alloc(64 * 1024, 'x'))
  assert.equal(splitter.pendingBytes, 4000 * 64 * 1024)
  // A line beyond the limit is counted and not stored.
  assert.ok(process.memoryUsage().rss - before < 128 * 1024 * 1024)
  splitter.push(Buffer.from('\n'))
  assert.equal(splitter.pendingBytes, 0)
})

function pass(bytes: number, size: number): void {
  let whole = 0
  const splitter = new LineSplitter({ line: (line) => (whole = line.length), oversize: () => {} }, 1e9)
  const chunk = Buffer.alloc(size, 'x')
  for (let at = 0; at < bytes; at += size) splitter.push(chunk)
  splitter.push(Buffer.from('\n'))
  assert.equal(whole, bytes)
}

test('40 MB in chunks of 64 KiB cost little more than joining them once', () => {
  const size = 64 * 1024
  const parts = Array.from({ length: 640 }, () => Buffer.alloc(size, 'x'))
  const ratio = costRatio(
    () => pass(640 * size, size),
    () => Buffer.concat(parts),
    3,
  )
  assert.ok(ratio < 20, `${ratio} times as much`)
})

test('chunks of one byte cost little more memory than their bytes', () => {
  const splitter = new LineSplitter({ line: () => {}, oversize: () => {} }, 1e9)
  const before = process.memoryUsage()
  for (let at = 0; at < 2 * 1024 * 1024; at++) splitter.push(Buffer.from('x'))
  const after = process.memoryUsage()
  assert.equal(splitter.pendingBytes, 2 * 1024 * 1024)
  assert.ok(after.heapUsed - before.heapUsed < 64 * 1024 * 1024, 'an object for each byte takes over 200 MB')
})
