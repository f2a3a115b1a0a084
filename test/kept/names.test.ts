// Which servers are the same, and what a name tells.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { identityOf } from '../../src/kept/identity.js'
import { KeptNames, readKeptName } from '../../src/kept/names.js'
import { serverOf } from './support/facts.js'

const key = Buffer.alloc(32, 1)
const names = new KeptNames(key, '/home/it/mcp.json')
const program = { command: 'node', args: ['server.js', '${TOKEN}'], env: { B: '2', A: '1' }, cwd: '/srv' }
const remote = { url: 'https://mcp.example.com/mcp', headers: { Authorization: 'Bearer ${TOKEN}' } }
const env = { TOKEN: 'secret-1', OTHER: 'x' }

/** What is changed -> whether what was kept is still of use. */
const cases: [string, Record<string, unknown>, Record<string, unknown>, boolean][] = [
  ['the tools that are shown', program, { tools: { deny: ['x'], timeouts: { y: { timeout: 5 } } } }, true],
  ['the prefix', program, { prefix: false }, true],
  ['the description', program, { describe: false }, true],
  ['what happens to wrong arguments', program, { argumentErrors: 'off' }, true],
  ['which arguments are right', program, { argumentChecks: 'strict' }, true],
  ['times', program, { timeout: 5, totalTimeout: 6, startTimeout: 7, listTimeout: 8 }, true],
  ['restarts', program, { restart: false, restartDelay: 5, onTimeout: 'restart' }, true],
  ['the number of processes', program, { concurrency: 1, processes: 2, idleTimeout: 9 }, true],
  ['memory', program, { memoryLimitMB: 100 }, true],
  ['when it starts', program, { lazy: true }, true],
  ['the order of variables', program, { env: { A: '1', B: '2' } }, true],
  ['how often it is tried', remote, { retries: 1, retryDelay: 5 }, true],
  ['the program', program, { command: 'deno' }, false],
  ['an argument', program, { args: ['server.js'] }, false],
  ['a variable', program, { env: { A: '1', B: '3' } }, false],
  ['what it inherits', program, { inheritEnv: ['OTHER'] }, false],
  ['the folder', program, { cwd: '/other' }, false],
  ['who shares a process', program, { isolation: 'session' }, false],
  ['the address', remote, { url: 'https://mcp.example.com/other' }, false],
  ['a header', remote, { headers: { Authorization: 'Bearer ${TOKEN}', X: '1' } }, false],
  ['who asks', remote, { auth: { type: 'google' } }, false],
  ['the protocol', remote, { type: 'sse' }, false],
]

describe('what was kept of a server', () => {
  for (const [what, entry, change, same] of cases) {
    test(`is ${same ? 'of use' : 'not used'} when ${what} changes`, () => {
      const one = names.file(serverOf(entry, env))
      const other = names.file(serverOf({ ...entry, ...change }, env))
      assert.equal(one === other, same)
    })
  }

  test('is not used with another value of a variable', () => {
    for (const entry of [program, remote])
      assert.notEqual(
        names.file(serverOf(entry, env)),
        names.file(serverOf(entry, { ...env, TOKEN: 'secret-2' })),
      )
  })

  test('is used with another value of what is inherited', () => {
    const entry = { ...program, inheritEnv: ['OTHER'] }
    assert.equal(
      names.file(serverOf(entry, env)),
      names.file(serverOf(entry, { ...env, OTHER: 'y', PATH: '/elsewhere' })),
    )
  })

  test('is of its configuration and of its key', () => {
    const config = serverOf(program, env)
    const all = [
      names,
      new KeptNames(key, '/home/it/other.json'),
      new KeptNames(Buffer.alloc(32, 2), '/home/it/mcp.json'),
    ]
    assert.equal(new Set(all.map((each) => each.file(config))).size, 3)
    const content = Buffer.from('{}')
    assert.equal(new Set(all.map((each) => each.seal('a.kept')(content))).size, 3 - 1)
    assert.notEqual(names.seal('a.kept')(content), names.seal('b.kept')(content))
  })

  test('has a name that tells its configuration and server only to who has the key', () => {
    const config = serverOf(program, env)
    const file = names.file(config)
    assert.match(file, /^[0-9a-f-]+\.kept$/)
    assert.deepEqual(readKeptName(file), { owner: names.owner, server: names.server('s') })
    assert(identityOf(config).includes('secret-1'))
    for (const other of ['key', 'config.json', '.x.kept.1.1.tmp', `x${file}`, `${file}.tmp`])
      assert.equal(readKeptName(other), undefined)
  })
})
