// The log of the command, on stderr and in its file, and never on stdout.

import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { at, parsed, textAt } from './support/json.js'
import { cli, itServer } from './support/programs.js'
import { type Scope, type Servers, configFile, scratch, spawnProxy } from './support/spawned.js'
import { until } from './support/waiting.js'

function start(scope: Scope, servers: Servers, level: string) {
  const log = join(scratch(scope), 'logs', 'proxy.log')
  const run = spawnProxy(scope, servers, { more: { logging: { level, file: log } } })
  const records = (): readonly unknown[] =>
    readFileSync(log, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => parsed(line))
  return { run, records }
}

/** `level service message` of each record; what differs from run to run is left out. */
const told = (records: readonly unknown[]): string[] =>
  records
    .filter((record) => at(record, 'details', 'stream') !== 'stderr')
    .map((record) =>
      [textAt(record, 'level'), service(record), textAt(record, 'message')]
        .join(' ')
        .replaceAll(/\d+(?:\.\d)? (?:ms|s)\b/g, 'N ms')
        .replaceAll(/\d+ tools/g, 'N tools'),
    )

/** Which server a record is about. */
const service = (record: unknown): string =>
  at(record, 'service') === undefined ? '-' : textAt(record, 'service')

test('the log of the command tells of the configuration first, then of servers, clients and failed calls, and of no call that is well', async (t) => {
  const { run, records } = start(t, { a: itServer({}, { timeout: 2000, restartDelay: 10 }) }, 'info')
  const { client } = run
  const clientInfo = { name: 'evil\u001b[31m', version: '3' }
  await client.request('initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  await client.call('a__nonce', { n: 1 })
  await client.call('a__never')
  await client.call('nothing')
  await run.finish()
  const lines = told(records())
  assert.match(
    lines[0] ?? '',
    /^info - configuration in force: .*config\.json, group 'default' with 1 server$/,
  )
  const expected = [
    'info a starting',
    'info a ready after N ms: protocol version 2025-11-25 (it refused server/discover), N tools',
    'info - client 1 (evil\u001b[31m) attached: version 3, protocol version 2025-06-18',
    "warn a tools/call 'a__never' failed after N ms: 'a': no answer or progress for tool 'a__never' within N ms (timeout)",
    "warn - tools/call 'nothing' refused after N ms: Tool 'nothing' not found",
    'info - client 1 (evil\u001b[31m) is gone after N ms',
    'info a stopped: the proxy is closing',
  ]
  for (const line of expected) assert(lines.includes(line), `${line}\nis not in\n${lines.join('\n')}`)
  assert.equal(lines.filter((line) => line.includes('a__nonce')).length, 0)
  assert.equal(run.stderr.includes('\u001b[31m'), false, 'nothing of a stranger gets raw to a terminal')
})

test('the log of the command has warnings of Node.js, but not that there is no metadata server of Google', async (t) => {
  // The first warnings may come before the log is open.
  const warn = `for(const name of ['MetadataLookupWarning','OtherWarning'])process.emitWarning('x',name)`
  const NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(`setInterval(()=>{${warn}},50).unref()`)}`
  const run = spawnProxy(t, {}, { env: { ...process.env, NODE_OPTIONS } })
  await until(() => run.stderr.includes('"warn","message":"OtherWarning: x"'))
  assert.equal(run.stderr.includes('"warn","message":"MetadataLookupWarning'), false)
})

const cases = [
  [
    'is written where stdout carries no protocol',
    ['--http', '--port', '0'],
    /"message":"configuration in force/,
  ],
  ['is an error where it does', ['--stdio'], undefined],
] as const
for (const [title, args, want] of cases)
  test(`a log to stdout: ${title}`, async (t) => {
    const out = join(scratch(t), 'out')
    const config = configFile(t, {}, { logging: { file: '/dev/stdout', maxSize: 1024 } })
    const stdout = openSync(out, 'a')
    const child = spawn(process.execPath, [cli, ...args, '--config', config], {
      stdio: ['pipe', stdout, 'pipe'],
    })
    closeSync(stdout)
    t.after(() => child.kill('SIGKILL'))
    let stderr = ''
    child.stderr?.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
    const written = (): string => readFileSync(out, 'utf8')
    const refusal = /log file \/dev\/stdout: cannot be written: it is the stdout of this process/
    await until(() => (want === undefined ? refusal.test(stderr) : want.test(written())))
    assert.equal(want === undefined ? written() : refusal.test(stderr), want === undefined ? '' : false)
  })
