// A login by a code that the person enters on another device.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { type ShowCode, logInByDevice } from '../../src/login/login-flow.js'
import { LoginStore } from '../../src/login/login-store.js'
import { scratch } from '../integration/support/spawned.js'
import { type AuthorizationOptions, AuthorizationServer } from './authorization-server.js'
import { openRuntime } from '../support/open-runtime.js'

/** Answers of the token endpoint, in their order. */
async function run(t: TestContext, answers: object[], more: AuthorizationOptions = {}) {
  const onGrant: AuthorizationOptions['onGrant'] = (asked) => {
    assert.equal(asked.get('grant_type'), 'urn:ietf:params:oauth:grant-type:device_code')
    assert.deepEqual([asked.get('device_code'), asked.get('client_id')], ['device', 'client-1'])
    return answers.shift()
  }
  const metadata = { authorization_endpoint: undefined, code_challenge_methods_supported: undefined }
  const server = await AuthorizationServer.open(t, { onGrant, metadata, ...more })
  const real = openRuntime(t)
  /** Between two requests, in milliseconds. */
  const pauses: number[] = []
  // A timer of ten seconds or longer is the limit of a request.
  const setTimer: typeof real.setTimer = (ms, fire) => {
    if (ms >= 10_000) return real.setTimer(ms, fire)
    pauses.push(ms)
    return real.setTimer(0, fire)
  }
  const shown: unknown[] = []
  const show: ShowCode = async ({ address, userCode }) => void shown.push([address, userCode])
  const store = new LoginStore(join(scratch(t), 'auth'), real)
  const login = logInByDevice({ url: server.url }, store, { ...real, setTimer }, show)
  return { login, shown, pauses, server }
}

const pending = { error: 'authorization_pending' }
const tokens = { access_token: 'a', token_type: 'bearer', refresh_token: 'r', expires_in: 60 }

test('a login by a code waits for the person, and slows down when the server wants that', async (t) => {
  const { login, shown, pauses, server } = await run(t, [pending, { error: 'slow_down' }, pending, tokens])
  const { accessToken, refreshToken, issuer, scope } = await login
  assert.deepEqual([accessToken, refreshToken, issuer, scope], ['a', 'r', server.issuer, 'read'])
  assert.deepEqual(shown, [[`${server.origin}/enter`, 'ABCD-EFGH']])
  assert.deepEqual(pauses, [1000, 1000, 6000, 6000])
})

const ends: readonly [string, object[], AuthorizationOptions, RegExp][] = [
  ['a refusal', [{ error: 'access_denied' }], {}, /access_denied/],
  ['a code that is over', [{ error: 'expired_token' }], {}, /expired_token/],
  ['a code that lasts no second', [], { deviceAnswer: { expires_in: 1 } }, /not entered in time/],
  [
    'an address that no browser opens',
    [],
    { deviceAnswer: { verification_uri: 'javascript:alert(1)' } },
    /that no browser opens/,
  ],
  [
    'a server without such logins',
    [],
    { metadata: { device_authorization_endpoint: undefined } },
    /has no logins by a code on another device/,
  ],
]
for (const [title, answers, options, wanted] of ends)
  test(`a login by a code ends with ${title}`, async (t) =>
    assert.rejects((await run(t, answers, options)).login, wanted))
