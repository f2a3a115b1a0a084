// `login`, `logins` and `logout`, while proxies run.

import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { readArguments } from '../../src/cli/commands.js'
import { loginCommands } from '../../src/cli/login.js'
import { clientInfoOf } from '../../src/cli/common-options.js'
import { connectCommand, remoteOf } from '../../src/cli/serve-commands.js'
import { remoteConfig } from '../../src/cli/remote.js'
import { at } from '../integration/support/json.js'
import { cli } from '../integration/support/programs.js'
import { type Ran, configFile, scratch, spawnProgram } from '../integration/support/spawned.js'
import { until, untilAnswered } from '../integration/support/waiting.js'
import { AuthorizationServer } from '../login/authorization-server.js'
import { runCommand } from './support/in-process.js'

type Place = Awaited<ReturnType<typeof place>>

/** A server that requires a login, and a browser that logs in. */
async function place(t: TestContext, login: 'auto' | 'manual' = 'manual') {
  const server = await AuthorizationServer.open(t)
  const home = scratch(t)
  const browser = join(home, 'browser.mjs')
  writeFileSync(browser, `#!${process.execPath}\nawait fetch(process.argv[2])\n`)
  chmodSync(browser, 0o755)
  const guarded = { url: server.url, auth: { type: 'oauth', login } }
  const config = configFile(t, { guarded, local: { command: 'x' } })
  return { server, config, env: { ...process.env, HOME: home, BROWSER: browser } }
}

/** The redirect for a browser on another machine. */
const redirectOf = async (address: string): Promise<string> =>
  (await fetch(address, { redirect: 'manual' })).headers.get('location') ?? ''

const run = (
  { config, env }: Place,
  args: readonly string[],
  input?: Parameters<typeof runCommand>[2],
): Promise<Ran> => runCommand(args[0] === 'logins' ? args : [...args, '--config', config], env, input)

describe('login', () => {
  test('is made in the browser, is listed, and is taken back', async (t) => {
    const here = await place(t)
    const before = await run(here, ['call', 'guarded__hello'])
    assert.match(before.err, /'guarded' needs a login; run: mcps-proxy login guarded/)
    const wanted = /^ {2}guarded {2}it needs a login; run: mcps-proxy login guarded\n/
    assert.match((await run(here, ['doctor', 'guarded'])).out, wanted)
    assert.match((await run(here, ['list'])).out, /guarded {2}login {3}it needs a login; run: mcps-proxy/)
    const { code, out, err } = await run(here, ['login', 'guarded'])
    assert.deepEqual([code, err.includes('/login/')], [0, true])
    assert.match(out, /^guarded: logged in at 127\.0\.0\.1:\d+, and it is renewed by itself\n$/)
    assert.equal((await run(here, ['call', 'guarded__hello'])).out, 'hi\n')
    const logins = await run(here, ['logins'])
    assert(logins.out.startsWith(here.server.url), logins.out)
    assert.doesNotMatch(logins.out + err + out, /access-|refresh-/)
    assert.match((await run(here, ['logout', 'guarded'])).out, /^guarded: logged out\n$/)
    assert(here.server.asked.includes('POST /revoke'))
    assert.equal((await run(here, ['logins'])).out, '')
    assert.match((await run(here, ['logout', 'guarded'])).err, /there is no login to 'guarded'/)
  })

  test('that cannot be revoked is kept, unless its person gives it up', async (t) => {
    const here = await place(t)
    await run(here, ['login', 'guarded'])
    here.server.options = { revocationStatus: 503 }
    const { code, err } = await run(here, ['logout', 'guarded'])
    assert.equal(code, 1)
    assert.match(err, /login to 'guarded' is not revoked: 127\S+ answered HTTP 503; .*--force/)
    assert.match((await run(here, ['logins'])).out, /\/mcp {2}at 127/)
    const forced = await run(here, ['logout', 'guarded', '--force'])
    assert.match(forced.out, /^guarded: logged out here; its tokens are not revoked/)
    assert.equal((await run(here, ['logins'])).out, '')
  })

  test('to an address with a key is listed without the key', async (t) => {
    const here = await place(t)
    const url = `${here.server.url}?api_key=s3cr3t-value`
    const config = configFile(t, { keyed: { url, auth: { type: 'oauth', login: 'manual' } } })
    assert.equal((await run({ ...here, config }, ['login', 'keyed'])).code, 0)
    assert.match((await run(here, ['logins'])).out, /\/mcp\?api_key=\[redacted\]/)
  })

  test('is made on another machine, whose address is pasted', async (t) => {
    const here = await place(t)
    let isSeen = false
    const { code, out } = await run(here, ['login', 'guarded', '--no-browser'], (err) => {
      const [address] = /http:\S+\/authorize\S+(?=\n)/.exec(err) ?? []
      if (address === undefined || isSeen) return undefined
      isSeen = true
      return redirectOf(address)
    })
    assert.deepEqual([code, out.startsWith('guarded: logged in')], [0, true])
  })

  test('opens by itself in the browser of a desktop', async (t) => {
    const here = await place(t, 'auto')
    const args = [cli, 'stdio', '--config', here.config]
    const proxy = spawnProgram(t, process.execPath, args, { env: here.env })
    await proxy.client.open()
    await until(() => proxy.stderr.includes('logged in at 127.0.0.1'))
    assert.match((await run(here, ['logins'])).out, /is renewed by itself/)
    await untilAnswered(
      async () => at((await proxy.client.call('guarded__hello', {})).value, 'result') !== undefined,
      () => proxy.stderr,
    )
    assert.equal(await proxy.finish(), 0)
  })

  const mistakes: readonly [string, RegExp][] = [
    ['login', /login needs the name or the address of a server$/],
    ['login a b', /unexpected argument "b"/],
    ['logins a', /unexpected argument "a"/],
    ['login https://h --user ann', /--user is for a server of the configuration/],
    ['logout a --scope x', /unknown option --scope/],
    ['login a --client-info {"client_id":"c"}', /are for an address; set auth\.clientId of 'a'/],
    ['login https://h --client-info {}', /--client-info has no "client_id", or its file cannot be read/],
    ['login https://h --client-metadata-url http://h', /must be an https:\/\/ address with a path/],
    [
      'connect https://h --client-info {"client_id":"c"} --auth none',
      /--auth and --client-info cannot be used together; ID tokens need no login/,
    ],
    ['login a --json', /unknown option --json/],
  ]
  test('by an address has the client of the command line, also in a file', (t) => {
    const file = join(scratch(t), 'client.json')
    writeFileSync(file, '{"client_id":"c","client_secret":"s"}')
    const login = loginCommands.login.read(['https://h', '--client-info', `@${file}`])
    assert.deepEqual(clientInfoOf(login), { clientId: 'c', clientSecret: 's' })
    const address = 'https://me.example/client.json'
    const remote = remoteOf(connectCommand.read(['https://h/mcp', '--client-metadata-url', address]))
    const [server] = remoteConfig(remote, undefined, 'x').schemas.get('default')?.servers ?? []
    assert(server?.kind === 'http')
    assert.equal(server.login?.clientMetadataUrl, address)
  })

  for (const [line, wanted] of mistakes)
    test(`refuses: ${line}`, async () => assert.rejects(readArguments(line.split(' ')), wanted))

  test('of a user is made, listed and removed by itself', async (t) => {
    const here = await place(t)
    const tokens = [{ name: 'ann', sha256: 'a'.repeat(64) }]
    const guarded = { url: here.server.url, auth: { type: 'oauth', perUser: true } }
    const issuers = [{ issuer: 'https://auth.example.com' }]
    const front = { tokens, publicUrl: 'https://mcp.example.com', auth: { issuers } }
    const config = configFile(t, { guarded, other: { url: here.server.url } }, { server: front })
    const there = { ...here, config }
    const { code, err } = await run(there, ['login', 'other', '--user', 'ann'])
    assert.equal(code, 2)
    assert.match(err, /'other' has one login for all users; "perUser": true/)
    for (const [user, wanted] of [
      ['ann', /^(?!.*token is called)/s],
      ['https://auth.example.com#bob', /^(?!.*token is called)/s],
      ['anm', /^mcps-proxy: no token is called "anm"; did you mean "ann"\?$/m],
      ['https://other.example.com#bob', /no token is called "https:\S+#bob"; there is ann$/m],
    ] as const) {
      const made = await run(there, ['login', 'guarded', '--user', user])
      assert.equal(made.code, 0)
      assert.match(made.err, wanted)
    }
    assert.match((await run(there, ['logins'])).out, /\/mcp {2}of ann {2}at 127/)
    const { err: ofBob } = await run(there, ['logins', '--user', 'bob'])
    assert.match(ofBob, /no login of 'bob'; .* login NAME --user bob/)
    const doctor = await run(there, ['doctor', 'guarded'])
    assert.match(doctor.out, /each user of the HTTP front needs one: .* --user NAME/)
    assert.equal(doctor.code, 0)
    assert.match((await run(there, ['logout', 'guarded'])).err, /there is no login to 'guarded'/)
    // An address that is no longer in the configuration may still have a login.
    assert.match((await run(there, ['logout', here.server.url, '--user', 'bob'])).err, /no login .* of 'bob'/)
    assert.match((await run(there, ['logout', here.server.url, '--user', 'ann'])).out, /logged out/)
    const { err: ofAnn } = await run(there, ['logout', 'guarded', '--user', 'ann'])
    assert.match(ofAnn, /no login to 'guarded' of 'ann'/)
    const { err: nameless } = await run(there, ['login', 'guarded'])
    assert.match(nameless, /for clients without a name; mcps-proxy login guarded --user NAME/)
  })

  const unknown: readonly [string, RegExp][] = [
    ['guarde', /no server of \S+ is called "guarde"; did you mean "guarded"\?/],
    ['local', /'local' needs no login: it is a program, or has credentials in/],
  ]
  for (const [name, wanted] of unknown)
    test(`says why there is no login to ${name}`, async (t) => {
      const { code, err } = await run(await place(t), ['login', name])
      assert.equal(code, 2)
      assert.match(err, wanted)
    })
})
