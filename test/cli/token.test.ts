import assert from 'node:assert/strict'

import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'

import { readJson } from '../../src/config/json-syntax.js'
import { at } from '../integration/support/json.js'

import { type Ran, type Scope, scratch } from '../integration/support/spawned.js'
import { runCommand } from './support/in-process.js'

function home(t: Scope, text = '{\n  // mine\n  "mcpServers": {}\n}\n'): string {
  const folder = scratch(t)
  mkdirSync(join(folder, '.mcps-proxy'))
  writeFileSync(join(folder, '.mcps-proxy', 'config.json'), text)
  return folder
}

const run = (folder: string, ...args: readonly string[]): Promise<Ran> =>
  runCommand(['token', ...args], { HOME: folder })

function fileOf(folder: string): { readonly text: string; readonly tokens: unknown } {
  const text = readFileSync(join(folder, '.mcps-proxy', 'config.json'), 'utf8')
  const read = readJson(text)
  return { text, tokens: read.kind === 'value' ? at(read.value, 'server', 'tokens') : undefined }
}

describe('token', () => {
  test('shows a token once, and keeps its hash', async (t: Scope) => {
    const folder = home(t)
    assert.match((await run(folder, 'list')).err, /there is no token; mcps-proxy token create NAME makes one/)
    const { code, out, err } = await run(folder, 'create', 'ci', '--expires', '2999-01-31')
    assert.equal(code, 0)
    assert.match(out, /^mcps_[\w-]{43}\n$/)
    assert.match(err, /'ci' is in .*config\.json as its hash, until 2999-01-31.* with the address \/mcp$/m)
    const sha256 = createHash('sha256').update(out.trim()).digest('hex')
    const { text, tokens } = fileOf(folder)
    assert.deepEqual(tokens, [{ name: 'ci', sha256, expires: '2999-01-31' }])
    assert.match(text, /\/\/ mine/)
    assert.equal(text.includes(out.trim()), false)
    assert.notEqual((await run(folder, 'create', 'other')).out, out)
    assert.equal(
      (await run(folder, 'list')).out,
      'ci     everything; expires 2999-01-31T00:00:00Z\nother  everything; does not expire\n',
    )
    assert.equal((await run(folder, 'revoke', 'ci')).out, 'ci is revoked\n')
    assert.equal((await run(folder, 'list')).out, 'other  everything; does not expire\n')
  })

  test('the first one and the last one say what they mean for all clients', async (t: Scope) => {
    const folder = home(t, '{ "mcpServers": {}, "profiles": { "a": {} } }')
    const closes = /from now on every client of the gateway needs one, and all outside of profiles/
    assert.match((await run(folder, 'create', 'one', '--profile', 'a')).err, closes)
    assert.doesNotMatch((await run(folder, 'create', 'two')).err, /from now on/)
    assert.equal((await run(folder, 'revoke', 'one')).err, '')
    assert.match(
      (await run(folder, 'revoke', 'two')).err,
      /the last token of the file, and a gateway without MCPS_PROXY_TOKEN refuses every client now; .*remove "tokens": \[\] from/,
    )
    assert.deepEqual(fileOf(folder).tokens, [])
    assert.match((await run(folder, 'create', 'three')).err, /every client of the gateway needs one, and/)
  })

  test('reckons spans from now', async (t: Scope) => {
    const folder = home(t)
    const before = Date.now()
    for (const [name, span] of [
      ['a', '12h'],
      ['b', '2w'],
    ] as const)
      await run(folder, 'create', name, '--expires', span)
    const { tokens } = fileOf(folder)
    const hours = [0, 1].map((index) => {
      const ends = Date.parse(String(at(tokens, index, 'expires')))
      return Math.floor((ends - before + 2000) / 3_600_000)
    })
    assert.deepEqual(hours, [12, 336])
  })

  test('may be for profiles alone, which must be there', async (t: Scope) => {
    const folder = home(t, '{ "mcpServers": {}, "profiles": { "a": {}, "b": {} } }')
    const created = await run(folder, 'create', 'ci', '--profile', 'a', '--profile', 'b')
    assert.equal(created.code, 0)
    assert.match(created.err, /with the address \/p\/a\/mcp or \/p\/b\/mcp$/m)
    assert.deepEqual(at(fileOf(folder).tokens, 0, 'profiles'), ['a', 'b'])
    assert.equal((await run(folder, 'list')).out, 'ci  profiles a, b; does not expire\n')
    const { code, err } = await run(folder, 'create', 'x', '--profile', 'c')
    assert.equal(code, 2)
    assert.match(err, /profiles\[0\] is "c", which is no profile; there is a, b/)
  })

  for (const [title, address, why] of [
    [
      'cannot be asked',
      'redis://127.0.0.1:1',
      /'ann' is not revoked: server\.store cannot be used: .*; check the address/,
    ],
    ['has an address that is not known here', '${STORE}', /server\.store has no value/],
  ] as const)
    test(`revokes nothing where the store of several instances ${title}`, async (t: Scope) => {
      const tokens = [{ name: 'ann', sha256: 'a'.repeat(64) }]
      const server = { stateKey: 'a key of all instances', store: address, tokens }
      const folder = home(t, JSON.stringify({ mcpServers: {}, server }))
      const { code, err } = await run(folder, 'revoke', 'ann')
      assert.notEqual(code, 0)
      assert.match(err, why)
      assert.deepEqual(fileOf(folder).tokens, tokens)
    })

  const mistakes: readonly (readonly [title: string, args: readonly string[], why: RegExp])[] = [
    ['nothing to do', [], /needs create, list or revoke/],
    ['no name', ['create'], /needs the name of a token/],
    [
      'a name that cannot be used',
      ['create', 'a b'],
      /tokens\[0\]\.name is "a b"; must be a name of letters/,
    ],
    ['a time that is none', ['create', 'ci', '--expires', 'soon'], /it must be like 12h, 30d, 8w/],
    [
      'a day that is past',
      ['create', 'ci', '--expires', '2020-01-01'],
      /it must be like 12h, 30d, 8w, or a day to come/,
    ],
    ['a span of nothing', ['create', 'ci', '--expires', '0h'], /it must be like 12h/],
    ['an end of what is there', ['revoke', 'ci', '--expires', '1d'], /work only with create/],
    ['a token that is not there', ['revoke', 'ci'], /no token is called "ci"; there is none/],
  ]
  for (const [title, args, why] of mistakes)
    test(`refuses ${title}`, async (t: Scope) => {
      const { code, err } = await run(home(t), ...args)
      assert.equal(code, 2)
      assert.match(err, why)
    })
})
