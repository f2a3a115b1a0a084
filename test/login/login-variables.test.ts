// Tokens of logins in the variables of programs.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, describe, test } from 'node:test'
import { ConfigError } from '../../src/config/problems.js'
import { resolveConfig } from '../../src/config/config.js'
import { throughDoor } from '../../src/config/door.js'
import { homeOf, loginFolder } from '../../src/config/file.js'
import { logIn } from '../../src/login/login-flow.js'
import { LoginStore } from '../../src/login/login-store.js'
import { loginEnvironment } from '../../src/login/server-token.js'
import { realRuntime } from '../../src/real-runtime.js'
import type { StdioServerConfig } from '../../src/upstream/contracts/server-config.js'
import { at, textAt } from '../integration/support/json.js'
import { libraryProxy } from '../integration/support/library.js'
import { program } from '../integration/support/programs.js'
import { until } from '../integration/support/waiting.js'
import { AuthorizationServer, browse } from './authorization-server.js'

const url = 'https://h/mcp'

function worker(TOKEN: string, remote: object = { url }, door = false): StdioServerConfig {
  const value = { mcpServers: { remote, worker: { command: 'x', env: { TOKEN, PLAIN: 'p' } } } }
  const config = resolveConfig(
    door ? throughDoor(value, { schema: 'default', server: 'worker' }, 'test') : value,
    { source: 'test', folder: '/', home: '/home/ann', env: { A: 'aaaaaa' } },
  )
  const found = config.schemas.get('default')?.servers.find(({ name }) => name === 'worker')
  assert(found?.kind === 'stdio')
  return found
}

describe('a variable with the token of a login', () => {
  for (const door of [false, true])
    test(`knows the server of the login, ${door ? 'alone too' : 'and the text around'}`, () => {
      const { env, loginVariables = [], unavailable } = worker('Bearer ${login:remote}:${A}', { url }, door)
      assert.deepEqual([env, unavailable], [{ PLAIN: 'p' }, undefined])
      const [{ target, ...variable } = { target: undefined }] = loginVariables
      assert.deepEqual(variable, { variable: 'TOKEN', before: 'Bearer ', after: ':aaaaaa', server: 'remote' })
      assert.deepEqual([target?.url, target?.settings.folder], [url, '/home/ann/.mcps-proxy/auth'])
    })

  const lost: readonly [string, object, string][] = [
    ['${login:remot}', { url }, 'did you mean "remote"\\?'],
    ['${login:remote}', { command: 'y' }, 'there is none'],
    ['${login:remote}', { url, auth: { type: 'none' } }, 'there is none'],
  ]
  for (const [text, remote, mend] of lost)
    test(`${text} beside ${JSON.stringify(remote)} makes its program unavailable`, () => {
      assert.match(
        worker(text, remote).unavailable ?? '',
        new RegExp(
          `^\\$\\{login:\\w+\\} of "TOKEN" names no remote server of this file that gets a login; ${mend}$`,
        ),
      )
    })

  test('is a text where the dollar is doubled, and refers to one login', () => {
    assert.equal(worker('$${login:remote}').env['TOKEN'], '${login:remote}')
    assert.throws(
      () => worker('${login:remote}${login:remote}'),
      (error) => {
        assert(error instanceof ConfigError)
        assert.match(error.message, /refers to two logins in "TOKEN"/)
        return true
      },
    )
  })
})

async function guarded(t: TestContext): Promise<{
  server: AuthorizationServer
  runtime: ReturnType<typeof realRuntime>
}> {
  const server = await new AuthorizationServer().listen()
  const runtime = realRuntime()
  t.after(async () => {
    server.close()
    await runtime.close()
  })
  return { server, runtime }
}

describe('a program with such a variable', () => {
  test('waits for the login in a state of its own, and gets the token, which no log shows', async (t) => {
    const { server, runtime } = await guarded(t)
    const store = new LoginStore(loginFolder(homeOf(process.env)), runtime)
    const code = 'console.error(process.env.IT_TOKEN); import(process.argv[1])'
    const worker = {
      command: process.execPath,
      args: ['-e', code, program('it-server.mjs')],
      env: { IT_TOKEN: 'Bearer ${login:guarded}' },
    }
    const entries = { guarded: { url: server.url }, worker }
    const { proxy, attach, log } = await libraryProxy(t, entries, { runtime })
    const { client } = await attach()
    await client.open()
    const state = (): unknown => proxy.status().find(({ name }) => name === 'worker')?.state
    await until(() => state() === 'login-required')
    assert.match(
      proxy.status().find(({ name }) => name === 'worker')?.error ?? '',
      /'guarded' needs a login; run: mcps-proxy login guarded$/,
    )
    await logIn({ url: server.url }, store, runtime, { show: async (page) => void browse(page) })
    await until(() => state() === 'connected')
    const { value } = await client.call('worker__env')
    const shown = textAt(value, 'result', 'content', '0', 'text')
    assert.match(String(at(JSON.parse(shown), 'IT_TOKEN')), /^Bearer access-/)
    await until(() => log.some(({ service }) => service === 'worker'))
    assert.doesNotMatch(JSON.stringify(log), /access-|refresh-/)
  })

  test('gets a token that was renewed where it is near its end', async (t) => {
    const { server, runtime } = await guarded(t)
    const folder = join(homeOf(process.env), 'auth-of-variables')
    const store = new LoginStore(folder, runtime)
    const { accessToken, ...login } = await logIn({ url: server.url }, store, runtime, {
      show: async (page) => void browse(page),
    })
    const [variable] = worker('${login:remote}').loginVariables ?? []
    assert(variable?.target !== undefined)
    const target = { url: server.url, settings: { ...variable.target.settings, folder } }
    const token = async (): Promise<string | undefined> =>
      (await loginEnvironment([{ ...variable, target }], runtime, () => {})).get('TOKEN')
    assert.equal(await token(), accessToken)
    const now = runtime.wallNow()
    await store.write({ ...login, accessToken, obtainedAtMs: now - 3_000_000, expiresAtMs: now + 600_000 })
    assert.notEqual(await token(), accessToken)
    assert.equal(server.refreshes, 1)
  })
})
