import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'

const PROGRAM = fileURLToPath(new URL('../../src/servers/time.js', import.meta.url))

/** Runs the program on the chunks, then ends its stdin; `TZ` is part of its environment. */
async function run(args: readonly string[], chunks: readonly string[], TZ = 'Asia/Tokyo') {
  const child = spawn(process.execPath, [PROGRAM, ...args], { env: { TZ }, stdio: 'pipe' })
  const exit = once(child, 'exit')
  const output = Promise.all([text(child.stdout), text(child.stderr)])
  // A program that refuses its command line need not read.
  child.stdin.on('error', () => undefined)
  for (const chunk of chunks) child.stdin.write(chunk)
  child.stdin.end()
  const [stdout, stderr] = await output
  const [code] = await exit
  return { code, stdout, stderr }
}

function request(id: number, method: string, params: object = {}): string {
  return `${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`
}

const CALL = { name: 'get_current_time', arguments: { timezone: 'UTC' } }
const SESSION =
  request(1, 'initialize', { protocolVersion: '2025-06-18' }) +
  '{"jsonrpc":"2.0","method":"notifications/initialized"}\n' +
  request(2, 'tools/call', CALL) +
  request(3, 'ping') +
  request(4, 'tools/list') +
  request(5, 'resources/list') +
  request(6, 'tools/call', CALL)

function idsOf(stdout: string): readonly string[] {
  return [...stdout.matchAll(/^\{"jsonrpc":"2\.0","id":(\d+),/gm)].map(([, id = '']) => id)
}

function chunksOf(whole: string, chars: number): readonly string[] {
  return whole.match(new RegExp(`[^]{1,${chars}}`, 'g')) ?? []
}

for (const chars of [3, 65_536])
  test(`answers in order before it ends with its stdin, in chunks of ${chars}`, async () => {
    const { code, stdout, stderr } = await run([], chunksOf(SESSION, chars))
    assert.deepEqual(idsOf(stdout), ['1', '2', '3', '4', '5', '6'])
    assert.deepEqual([stdout.split('\n').length, code, stderr], [7, 0, ''])
  })

test('answers a last line that has no end', async () => {
  const { code, stdout } = await run([], [request(9, 'ping').trimEnd()])
  assert.deepEqual([code, stdout], [0, '{"jsonrpc":"2.0","id":9,"result":{}}\n'])
})

test('keeps its answers for a client that reads late', async () => {
  const count = 2000
  const requests = Array.from({ length: count }, (_, id) => request(id, 'tools/list')).join('')
  const { code, stdout } = await run(['--local-timezone=UTC'], [requests])
  assert.deepEqual([code, idsOf(stdout).length], [0, count])
})

test('ends when the client stops reading', async () => {
  const child = spawn(process.execPath, [PROGRAM], { stdio: ['pipe', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  child.stdin.on('error', () => undefined)
  child.stdout.destroy()
  child.stdin.write(request(1, 'ping'))
  assert.deepEqual(await exit, [0, null])
})

const localZones: readonly [args: readonly string[], variable: string, zone: string][] = [
  [['--local-timezone=Asia/Shanghai'], 'Asia/Tokyo', 'Asia/Shanghai'],
  [['--local-timezone', 'US/Eastern'], 'Asia/Tokyo', 'US/Eastern'],
  [[], 'Asia/Tokyo', 'Asia/Tokyo'],
  [[], 'Foo/Bar', 'UTC'],
]

for (const [args, variable, zone] of localZones)
  test(`the local zone of [${args.join(' ')}] with TZ=${variable} is ${zone}`, async () => {
    const { code, stdout } = await run(args, [request(1, 'tools/list')], variable)
    const named = [...stdout.matchAll(/Use '([^']+)' as local timezone/g)].map(([, name]) => name)
    assert.deepEqual([code, named], [0, [zone, zone, zone]])
  })

const badCommandLines: readonly [args: readonly string[], stderr: RegExp][] = [
  [
    ['--local-timezone=Foo/Bar'],
    /^mcp-time: --local-timezone 'Foo\/Bar' is not the name of an IANA time zone/,
  ],
  [['--nope'], /Unknown option '--nope'/],
]

for (const [args, wanted] of badCommandLines)
  test(`refuses to start with ${args.join(' ')}`, async () => {
    const { code, stdout, stderr } = await run(args, [])
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, wanted)
  })
