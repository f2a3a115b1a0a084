import assert from 'node:assert/strict'
import { readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { cli, itServer } from '../integration/support/programs.js'
import { type Ran, type Scope, scratch, spawnProgram } from '../integration/support/spawned.js'
import { until } from '../integration/support/waiting.js'
import { runCommand } from './support/in-process.js'

const run = (home: string, args: readonly string[], input = ''): Promise<Ran> =>
  runCommand(args, { HOME: home }, input)

describe('secret', () => {
  test('sets, lists and removes, and shows no value', async (t: Scope) => {
    const home = scratch(t)
    const { err } = await run(home, ['secret', 'list'])
    assert.match(err, /there is no secret; mcps-proxy secret set NAME makes one/)
    const set = await run(home, ['secret', 'set', 'github'], 'canary-value\n')
    assert.equal(set.code, 0)
    const file = join(home, '.mcps-proxy', 'secrets.json')
    assert.match(set.out, /^github is set, in /)
    assert.match(set.err, /no keyring of the system can be used/)
    const kept: unknown = JSON.parse(readFileSync(file, 'utf8'))
    assert.deepEqual(kept, { format: 1, secrets: { github: 'canary-value' } })
    assert.equal(statSync(file).mode & 0o777, 0o600)
    const list = await run(home, ['secret', 'list'])
    assert.deepEqual([list.code, list.out], [0, 'github\n'])
    assert.match((await run(home, ['secret', 'remove', 'githab'])).err, /did you mean "github"\?/)
    const removed = await run(home, ['secret', 'remove', 'github'])
    assert.deepEqual(removed, { code: 0, out: 'github is removed\n', err: '' })
    assert(![set, list].some(({ out, err }) => `${out}${err}`.includes('canary-value')))
  })

  const mistakes: readonly (readonly [title: string, args: readonly string[], why: RegExp])[] = [
    ['nothing to do', [], /needs set, list or remove/],
    ['a value among the arguments', ['set', 'github', 'canary-value'], /takes one name; the value is typed/],
    ['no name', ['set'], /needs the name of a secret/],
    ['a name that no reference can have', ['set', 'a}b'], /the name cannot be used/],
    ['an empty value', ['set', 'github'], /the value is empty/],
  ]
  for (const [title, args, why] of mistakes)
    test(`refuses ${title}`, async (t: Scope) => {
      const { code, err } = await run(scratch(t), ['secret', ...args])
      assert.equal(code, 2)
      assert.match(err, why)
      assert.doesNotMatch(err, /canary-value/)
    })

  test('reaches a proxy that runs', async (t: Scope) => {
    const home = scratch(t)
    const file = join(home, 'config.json')
    writeFileSync(file, JSON.stringify({ mcpServers: { a: itServer({ KEY: '${keyring:key}' }) } }))
    const env = { PATH: process.env['PATH'], HOME: home }
    const proxy = spawnProgram(t, process.execPath, [cli, 'stdio', '--config', file], { env })
    await proxy.client.open()
    assert.match(proxy.stderr, /the secret key is not set; run mcps-proxy secret set key/)
    await run(home, ['secret', 'set', 'key'], 'canary-value')
    // The same check notices a configuration that was rewritten without a change.
    utimesSync(file, new Date(), new Date())
    await until(() => proxy.stderr.includes('configuration changed'))
    assert.doesNotMatch(proxy.stderr, /canary-value/)
  })
})
