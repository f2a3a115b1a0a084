import assert from 'node:assert/strict'
import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { checkCommand, checkConfig } from '../../src/cli/check.js'
import { textAt } from '../integration/support/json.js'
import { leaveHome } from '../integration/support/home.js'
import { everything, itEcho, nodeProgram, timeArgs } from '../integration/support/programs.js'
import { type Ran, type Scope, configFile, scratch } from '../integration/support/spawned.js'
import { runCommand } from './support/in-process.js'

leaveHome()
const node = process.execPath

const run = (...args: readonly string[]): Promise<Ran> => runCommand(args)

/** Runs `--check` with these arguments in this process. */
const checked = async (
  args: readonly string[],
  env: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly exitCode: number; readonly text: string }> => checkConfig(checkCommand.read(args), env)

/** A server that leaves a file in the folder at each start. */
function counted(folder: string): { command: string; args: string[] } {
  const script = `require('fs').writeFileSync(${JSON.stringify(folder)} + '/' + process.pid, '')`
  return { command: node, args: ['-e', script] }
}

describe('--check', () => {
  const open = { server: { host: '0.0.0.0' } }

  test('refuses what a start over HTTP refuses, unless it has the same options as the start', async (t) => {
    const path = configFile(t, { echo: itEcho() }, open)
    assert.equal((await run('--http', '--config', path)).code, 2)
    const { code, out } = await run('--check', path)
    assert.equal(code, 1)
    assert.match(out, /no token, and 0\.0\.0\.0 can be reached .*server\.token/)
    for (const more of [['--stdio'], ['--allow-unauthenticated'], ['--host', '127.0.0.1']])
      assert.equal((await checked([path, ...more])).exitCode, 0, more.join(' '))
  })

  test('checks the schema "default" for --stdio', async (t) => {
    const path = join(scratch(t), 'config.json')
    writeFileSync(path, JSON.stringify({ schemas: { work: { mcpServers: { echo: itEcho() } } } }))
    assert.equal((await checked([path])).exitCode, 0)
    const { exitCode, text } = await checked([path, '--stdio'])
    assert.deepEqual([exitCode, /group "default" does not exist/.test(text)], [1, true])
  })

  test('warns of a file that the proxy above serves, which a start refuses', async (t) => {
    const path = configFile(t, { echo: itEcho() })
    const env = { ...process.env, MCPS_PROXY_CHAIN: `${pathToFileURL(path).href}#default` }
    const { exitCode, text } = await checked([path], env)
    assert.equal(exitCode, 0)
    assert.match(text, /warning: group "default" of this file is served already by/)
    const { code, err } = await runCommand(['--stdio', '--config', path], env)
    assert.equal(code, 2)
    assert.match(err, /is served already by the proxy that started this one/)
  })

  const programs: [string, unknown, RegExp | undefined][] = [
    ['a program of PATH', { command: 'sh' }, undefined],
    ['a whole path', { command: node }, undefined],
    [
      'a program that is nowhere',
      { command: 'no-such-program' },
      /"no-such-program", which is in no folder of PATH/,
    ],
    [
      'a path that leads nowhere',
      { command: './nothing' },
      /"\.\/nothing" \(seen from .*no program that is there/,
    ],
    ['a file that is no program', { command: './config.json' }, /no program that is there; check the path/],
    [
      'a folder that is not there',
      { command: 'sh', cwd: 'nowhere' },
      /working folder .*nowhere, which is not there/,
    ],
    [
      'a folder of a sandbox that is not there',
      { command: 'sh', sandbox: { filesystem: { read: ['.'], write: ['nowhere'] } } },
      /^ {2}server "s" of group "default" has \S+nowhere in "write" of its "sandbox", which is not there/m,
    ],
    [
      'a PATH of its own',
      { command: 'sh', env: { PATH: '/nowhere' } },
      /"sh", which is in no folder of PATH/,
    ],
  ]
  for (const [title, server, wanted] of programs)
    test(`looks for ${title}`, async (t) => {
      const path = join(scratch(t), 'config.json')
      writeFileSync(path, JSON.stringify({ mcpServers: { s: server } }))
      const { exitCode, text } = await checked([path])
      assert.match(text, wanted ?? /^ {2}valid: 1 group, 1 server, 0 warnings/m)
      const isWarning = text.includes('  warning: ')
      assert.equal(exitCode, wanted === undefined || isWarning ? 0 : 1)
      if (exitCode === 1) assert.match(text, /^ {2}server "s" of group "default" has .*\n1 problem$/m)
    })
})

describe('--check --start', () => {
  test('names an authorization server whose keys cannot be had', async (t) => {
    const issuer = 'http://127.0.0.1:9/team'
    const server = { publicUrl: 'https://mcp.example.com', auth: { issuers: [{ issuer }] } }
    const path = configFile(t, {}, { server })
    assert.match((await run('--check', path)).out, /valid: /)
    const { code, out } = await run('--check', path, '--start')
    assert.equal(code, 1)
    assert.match(
      out,
      /^ {2}http:\/\/127\.0\.0\.1:9\/team {2}the keys of .* cannot be fetched: 127\.0\.0\.1:9 cannot be reached/m,
    )
  })

  test('says of each server what came of it, and fails when one failed', async (t) => {
    const path = configFile(t, {
      every: everything,
      stateless: nodeProgram('typed.mjs'),
      plain: itEcho({}, { protocol: 'legacy' }),
      silent: { command: node, args: ['-e', 'process.stdin.resume()'], startTimeout: 500 },
      off: { command: 'no-such-program', disabled: true },
    })
    const { code, out, err } = await run('--check', path, '--start')
    assert.deepEqual([code, err], [1, ''])
    assert.match(
      out,
      /^ {2}every +ready in \d+ ms: \d+ tools, \d+ shown, revision 2025-\d\d-\d\d \(it refused server\/discover\)$/m,
    )
    assert.match(
      out,
      /^ {2}stateless +ready in \d+ ms: \d+ tools, revision 2026-07-28 \(as it answered server\/discover\)$/m,
    )
    assert.match(out, /^ {2}plain +ready in \d+ ms: .*, revision 2025-11-25 \(as configured\)$/m)
    assert.match(out, /^ {2}silent +failed after \d+ ms: .*\(startTimeout\)$/m)
    assert.match(out, /started: 3 ready, 1 failed\n$/)
    assert.doesNotMatch(out, /^ {2}off/m)
  })

  test('says why a server does not start any more of which lists are kept', async (t) => {
    const program = join(scratch(t), 'server.mjs')
    const path = configFile(t, { s: { command: node, args: [program] } })
    writeFileSync(program, `await import(${JSON.stringify(pathToFileURL(timeArgs[0] ?? ''))})`)
    assert.match((await run('--check', path, '--start')).out, /^ {2}s +ready in \d+ ms: 2 tools/m)
    writeFileSync(program, "throw new Error('KEY is missing')")
    const { out } = await run('--check', path, '--start')
    assert.match(out, /^ {2}s +failed after \d+ ms: 's' exited with code 1: Error: KEY is missing$/m)
  })

  test('succeeds when all are ready, lazy ones too, and tells no secret', async (t) => {
    const script = `console.error('my key is ' + process.env.API_KEY); process.exit(1)`
    const good = configFile(t, { one: itEcho({}, { lazy: true }), two: itEcho() })
    const home = scratch(t)
    const { code, out } = await runCommand(['--check', good, '--start'], { ...process.env, HOME: home })
    assert.equal(code, 0)
    assert.match(out, /started: 2 ready, 0 failed/)
    // The first client sees the lists immediately.
    const [kept = ''] = readdirSync(join(home, '.mcps-proxy/kept')).filter((name) => name.endsWith('.json'))
    const { servers } = Object(JSON.parse(readFileSync(join(home, '.mcps-proxy/kept', kept), 'utf8')))
    const names = Object.values(servers)
      .map((each) => textAt(each, 'name'))
      .sort()
    assert.deepEqual(names, ['one', 'two'])
    const env = { API_KEY: 'hush-hush-hush' }
    const telling = await run(
      '--check',
      configFile(t, { s: { command: node, args: ['-e', script], env } }),
      '--start',
    )
    assert.equal(telling.code, 1)
    assert.match(telling.out, /my key is \[redacted\]/)
  })
})

const refusals: [string, (scope: Scope) => readonly string[], number][] = [
  ['a front that is open to the network', () => ['--http', '--host', '0.0.0.0'], 2],
  [
    'an invalid address of this machine',
    () => ['--http', '--host', '192.0.2.1', '--allow-unauthenticated'],
    1,
  ],
  [
    'a recording that cannot be written',
    (t) => ['--stdio', '--record', join(scratch(t), 'none', 'r.jsonl')],
    2,
  ],
]
for (const [title, args, wanted] of refusals)
  test(`a refused start costs no process: ${title}`, async (t) => {
    const started = scratch(t)
    const path = configFile(t, { s: counted(started) })
    const { code, out } = await run(...args(t), '--config', path)
    assert.deepEqual([code, out, readdirSync(started)], [wanted, '', []])
  })
