// A loopback "Google" and a loopback "Cloud Run", with credentials of every kind.

import { strict as assert } from 'node:assert'
import { generateKeyPairSync, randomUUID } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { type ServerResponse } from 'node:http'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { findGoogleCredentials, noCredentials } from '../../src/upstream/auth/google-id-token.js'
import { IdTokenCredentials } from '../../src/upstream/auth/id-token-credentials.js'
import { at, parsed, textAt } from './support/json.js'
import { cli } from './support/programs.js'
import { type Spawned, scratch, spawnProgram, spawnProxy } from './support/spawned.js'
import { INIT, TOOLS } from '../transports/support/one-tool.js'
import {
  type Scope,
  type Seen,
  answerOf,
  events,
  json,
  scripted,
  testTimers,
} from '../transports/support/scripted.js'

const ACCOUNT = 'invoker@project.iam.gserviceaccount.com'
const CLIENT_ID = 'client-id.apps.googleusercontent.com'
const REFRESH = 'CANARY-refresh-token-1234567890'

/** The library signs the assertion of a service account with a real key. */
const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

/** A token with these claims; nothing here checks its signature. */
const jwt = (claims: object): string =>
  `h.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${randomUUID()}`

const claimsOf = (token: string): unknown => {
  const text = Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()
  return text === '' ? undefined : parsed(text)
}

const lifeSeconds = 3600
const access = (token: string): object => ({ access_token: token, expires_in: lifeSeconds })

/** The endpoints for tokens, metadata, impersonation and federation. */
class Google {
  /** A Cloud Run takes tokens of this generation of keys. */
  generation = 0
  readonly issued: string[] = []
  url = ''

  async start(scope: Scope): Promise<this> {
    const { url } = await scripted(scope, (seen, response) => this.handle(seen, response), { raw: true })
    this.url = url.origin
    return this
  }

  idToken(aud: string, email = ACCOUNT): string {
    const exp = Math.floor(Date.now() / 1000) + lifeSeconds
    const token = jwt({ aud, email, exp, generation: this.generation })
    this.issued.push(token)
    return token
  }

  handle(seen: Pick<Seen, 'url' | 'headers' | 'body'>, response: ServerResponse): void {
    const url = new URL(seen.url, this.url)
    if (url.pathname.startsWith('/computeMetadata/')) return this.#metadata(seen, url, response)
    const answer = this.#answer(url.pathname, seen)
    json(response, JSON.stringify(answer ?? { error: 'invalid_grant' }), answer === undefined ? 400 : 200)
  }

  /** Undefined for a request that is refused. */
  #answer(path: string, { headers, body }: Pick<Seen, 'headers' | 'body'>): object | undefined {
    const form = new URLSearchParams(body)
    if (path === '/sts' && form.get('subject_token') === 'CANARY-subject-token') {
      const issued_token_type = 'urn:ietf:params:oauth:token-type:access_token'
      return { ...access('federated'), token_type: 'Bearer', issued_token_type }
    }
    const bearers = ['federated', 'user', 'account'].map((each) => `Bearer ${each}`)
    if (path.endsWith(':generateIdToken') && bearers.includes(headers.authorization ?? '')) {
      const email = decodeURIComponent(path.split('/').at(-1) ?? '').split(':')[0]
      return { token: this.idToken(textAt(parsed(body), 'audience'), email) }
    }
    if (path !== '/token') return undefined
    if (form.get('refresh_token') === REFRESH)
      return { ...access('user'), id_token: this.idToken(CLIENT_ID, 'user@example.com') }
    const claims = claimsOf(form.get('assertion') ?? '')
    if (at(claims, 'iss') !== ACCOUNT) return undefined
    const audience = textAt(claims, 'target_audience')
    return audience === '' ? access('account') : { id_token: this.idToken(audience) }
  }

  #metadata(seen: Pick<Seen, 'headers'>, url: URL, response: ServerResponse): void {
    if (seen.headers['metadata-flavor'] !== 'Google') return void response.writeHead(403).end()
    response.setHeader('Metadata-Flavor', 'Google')
    const audience = url.searchParams.get('audience')
    response.end(url.pathname.endsWith('/identity') && audience !== null ? this.idToken(audience) : 'ok')
  }
}

/** A service that serves requests with a valid token, as the front of Cloud Run does. */
async function cloudRun(scope: Scope, google: Google, audiences: readonly string[] = []) {
  const state = { audience: '', refuseNext: 0, isForbidden: false }
  const service = await scripted(scope, (seen, response) => {
    const header = seen.headers['x-serverless-authorization'] ?? seen.headers.authorization ?? ''
    const claims = claimsOf(String(header))
    const isValid =
      at(claims, 'generation') === google.generation && Number(at(claims, 'exp')) * 1000 > Date.now()
    const accepted = [state.audience, CLIENT_ID, ...audiences]
    const page = (status: number, body: string): void =>
      void response.writeHead(status, { 'content-type': 'text/html' }).end(body)
    if (state.refuseNext > 0 || !isValid || !accepted.includes(textAt(claims, 'aud'))) {
      state.refuseNext--
      return page(401, '<title>401 Unauthorized</title><h1>Error: Unauthorized</h1>')
    }
    if (state.isForbidden) return page(403, '<h1>Error: Forbidden</h1>')
    if (seen.rpc === 'initialize') return json(response, answerOf(seen.id, INIT))
    if (seen.method === 'GET') return void response.writeHead(405).end()
    if (seen.id === undefined) return void response.writeHead(202).end()
    events(response, `data: ${answerOf(seen.id, seen.rpc === 'tools/list' ? TOOLS : '{"content":[]}')}\n\n`)
    response.end()
  })
  state.audience = service.url.origin
  return { ...service, state }
}

const user = {
  type: 'authorized_user',
  client_id: CLIENT_ID,
  client_secret: 'CANARY-client-secret',
  refresh_token: REFRESH,
}

/** A file of credentials, and the environment that finds it. */
function credentials(scope: Scope, google: Google, kind: string): Record<string, string> {
  const folder = scratch(scope)
  const file = join(folder, 'credentials.json')
  const subject = join(folder, 'subject.txt')
  writeFileSync(subject, 'CANARY-subject-token')
  const impersonation = `${google.url}/v1/projects/-/serviceAccounts/${ACCOUNT}:generateAccessToken`
  const files: Readonly<Record<string, object>> = {
    service_account: {
      client_email: ACCOUNT,
      private_key: privateKey,
      private_key_id: 'key',
      token_uri: `${google.url}/token`,
    },
    authorized_user: user,
    external_account: {
      audience: '//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q',
      subject_token_type: 'urn:ietf:params:oauth:token-type:jwt',
      token_url: `${google.url}/sts`,
      service_account_impersonation_url: impersonation,
      credential_source: { file: subject },
    },
  }
  writeFileSync(file, JSON.stringify({ type: kind, ...files[kind] }))
  return { GOOGLE_APPLICATION_CREDENTIALS: file }
}

const places = [
  'GOOGLE_APPLICATION_CREDENTIALS',
  'google_application_credentials',
  'CLOUDSDK_CONFIG',
  'HOME',
  'GCE_METADATA_HOST',
  'GCE_METADATA_IP',
  'METADATA_SERVER_DETECTION',
]

/** The variables of these places become the given ones. */
function put(values: NodeJS.ProcessEnv): void {
  for (const name of places) delete process.env[name]
  Object.assign(process.env, values)
}

/** Credentials are looked for in these places alone while `run` is at work. */
async function withEnv<T>(env: Readonly<Record<string, string>>, run: () => Promise<T>): Promise<T> {
  const before = { ...process.env }
  put(env)
  try {
    return await run()
  } finally {
    put(before)
  }
}

/** Requests to hosts of Google go to the loopback one. */
function rerouted(google: Google): typeof fetch {
  return (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const isGoogles = url.hostname.endsWith('googleapis.com')
    return fetch(isGoogles ? `${google.url}${url.pathname}${url.search}` : url, init)
  }
}

const nowhere = { HOME: '/nonexistent', METADATA_SERVER_DETECTION: 'none' }
const token = (exp: number): string => jwt({ exp })

/** The command in front of a service, with a metadata server. */
async function started(
  t: Scope,
  args: readonly string[] = ['--verbose'],
  environment: Readonly<Record<string, string>> = {},
) {
  const google = await new Google().start(t)
  const run = await cloudRun(t, google, ['https://custom'])
  const env = { PATH: process.env['PATH'], ...withMetadata(google.url), ...environment }
  const command = [cli, '--url', run.url.href, '--auth', 'google', ...args]
  return { google, run, spawned: spawnProgram(t, process.execPath, command, { env }) }
}

function assertSecret({ stderr, client }: Spawned, google: Google): void {
  const all = stderr + client.heard.map(({ text }) => text).join('\n')
  for (const token of google.issued) assert.equal(all.includes(token.split('.')[2] ?? token), false)
  assert.equal(all.includes('CANARY'), false)
}

const audience = 'https://svc'
const plain = { audience, impersonate: undefined }

/** The variables that lead a program to the metadata server. */
const withMetadata = (url: string): Record<string, string> => ({
  HOME: '/nonexistent',
  GCE_METADATA_HOST: new URL(url).host,
  METADATA_SERVER_DETECTION: 'assume-present',
})

/** Kinds of credentials, and the audience of the token that they bring. */
const kinds = [
  ['service_account', audience],
  ['authorized_user', CLIENT_ID],
  ['external_account', audience],
  ['the metadata server', audience],
] as const

describe('ID tokens', () => {
  for (const [kind, aud] of kinds)
    test(kind, async (t) => {
      const google = await new Google().start(t)
      const env = kind === 'the metadata server' ? withMetadata(google.url) : credentials(t, google, kind)
      const token = await withEnv({ ...nowhere, ...env }, async () =>
        (await findGoogleCredentials(plain, rerouted(google)))(),
      )
      assert.equal(at(claimsOf(token), 'aud'), aud)
    })

  test('impersonation by a user', async (t) => {
    const google = await new Google().start(t)
    const other = 'other@project.iam.gserviceaccount.com'
    const token = await withEnv({ ...nowhere, ...credentials(t, google, 'authorized_user') }, async () =>
      (await findGoogleCredentials({ audience, impersonate: other }, rerouted(google)))(),
    )
    const claims = claimsOf(token)
    assert.deepEqual([at(claims, 'aud'), at(claims, 'email')], [audience, other])
  })

  test('a metadata server that gives something else, or more than a token', async (t) => {
    let given = ''
    const server = await scripted(t, (_seen, response) => {
      response.writeHead(200, { 'metadata-flavor': 'Google' }).end(given)
    })
    await withEnv(withMetadata(server.url.href), async () => {
      const fetch = await findGoogleCredentials(plain)
      given = 'head.claims.signature\n'
      assert.equal(await fetch(), 'head.claims.signature')
      for (given of ['<html>please log in</html>', 'two tokens', 'one\r\nX-Header: 1'])
        await assert.rejects(fetch(), { code: 'TRANSPORT_AUTH', message: /the response is not an ID token$/ })
    })
  })

  test('none, revoked, and in a file that is not there', async (t) => {
    const google = await new Google().start(t)
    await withEnv(nowhere, () =>
      assert.rejects(findGoogleCredentials(plain), { code: 'TRANSPORT_AUTH', message: noCredentials }),
    )
    const file = join(scratch(t), 'c.json')
    writeFileSync(file, JSON.stringify({ ...user, refresh_token: 'CANARY-revoked' }))
    const revoked = await withEnv({ ...nowhere, GOOGLE_APPLICATION_CREDENTIALS: file }, () =>
      findGoogleCredentials(plain, rerouted(google)),
    )
    await assert.rejects(
      revoked(),
      (error) =>
        error instanceof Error &&
        /gcloud auth application-default login/.test(error.message) &&
        !/CANARY/.test(JSON.stringify(error)),
    )
    await withEnv({ ...nowhere, GOOGLE_APPLICATION_CREDENTIALS: '/nope.json' }, () =>
      assert.rejects(findGoogleCredentials(plain), /nope\.json/),
    )
    for (const text of ['{"client_secret":CANARY-secret}', 'CANARY-secret', '{"client_secret":"CANARY', ''])
      await withEnv({ ...nowhere, GOOGLE_APPLICATION_CREDENTIALS: file }, async () => {
        writeFileSync(file, text)
        const message = 'Authentication failed: no ID token: the file with the credentials must be JSON'
        await assert.rejects(findGoogleCredentials(plain), { code: 'TRANSPORT_AUTH', message })
      })
  })
})

const expired = { status: 401, challenges: ['Bearer error="invalid_token"'] }

test('the current token: one fetch for all that wait, renewed before its end, and after a refusal', async () => {
  let now = 0
  let fetched = 0
  const fetchOne = async (): Promise<string> => {
    fetched++
    return token(now / 1000 + 3600)
  }
  const told: string[] = []
  const held = new IdTokenCredentials(
    'Authorization',
    fetchOne,
    { ...testTimers, now: () => now, wallNow: () => now },
    (message) => told.push(message),
  )
  const [a, b] = await Promise.all([held.credential(), held.credential()])
  assert.deepEqual([a, fetched, told], [b, 1, ['an ID token for 3600 s was fetched in 0 ms']])
  now = 3_600_000 - 60_001
  assert.equal(await held.credential(), a)
  now = 3_600_000 - 60_000
  const [renewed] = await Promise.all([held.credential(), held.credential()])
  assert.notEqual(renewed, a)
  assert.equal(fetched, 2)
  assert.equal(await held.refused(a, expired), 'again', 'an older one does not take the new one along')
  assert.equal(await held.credential(), renewed)
  assert.equal(await held.refused(renewed, { ...expired, status: 403 }), undefined)
  assert.equal(await held.credential(), renewed)
  await held.refused(renewed, expired)
  assert.notEqual(await held.credential(), renewed)
  assert.equal(fetched, 3)
})

test('a fetch that never ends fails those that wait, and the next call has another one', async () => {
  const due: (() => void)[] = []
  const clocks = {
    now: () => 0,
    wallNow: () => 0,
    setTimer: (ms: number, fire: () => void) => {
      if (ms === 20_000) due.push(fire)
      return { cancel: () => undefined }
    },
  }
  const answers = [new Promise<string>(() => {}), Promise.resolve(token(3600))]
  const held = new IdTokenCredentials('Authorization', () => answers.shift() ?? Promise.reject(), clocks)
  const waiting = [held.credential(), held.credential()]
  for (const fire of due) fire()
  const why = { code: 'TRANSPORT_TOKEN', message: 'no ID token within 20 s' }
  for (const each of waiting) await assert.rejects(async () => each, why)
  assert.match((await held.credential()).fields[1] ?? '', /^Bearer /)
})

test('a fetch by a clock that is wrong is not made for every call', async () => {
  let fetched = 0
  const clocks = { ...testTimers, now: () => 0, wallNow: () => 7_200_000 }
  const fetchOne = async (): Promise<string> => token(3600 + fetched++)
  const held = new IdTokenCredentials('Authorization', fetchOne, clocks)
  const first = await held.credential()
  assert.equal(await held.credential(), first)
  assert.equal(fetched, 1)
})

describe('mcps-proxy --url', () => {
  test('a token for the origin, one for all calls, and one more on a 401', async (t) => {
    const { google, run, spawned } = await started(t)
    const { client } = spawned
    await client.open()
    const lists = await Promise.all([1, 2, 3].map(() => client.call('work')))
    for (const { value, text } of lists) assert.notEqual(at(value, 'result'), undefined, text)
    assert.equal(google.issued.length, 1)
    assert.match(spawned.stderr, /an ID token for \d+ s was fetched in \d+ ms/)
    assert.match(spawned.stderr, /POST tools\/call: HTTP 200 text\/event-stream, \d+ bytes out, \d+ ms/)
    google.generation++
    // The keys were rotated: our token is refused, and another one is good.
    assert.notEqual(at((await client.call('work')).value, 'result'), undefined)
    assert.equal(google.issued.length, 2)
    run.state.refuseNext = 1
    assert.notEqual(at((await client.call('work')).value, 'result'), undefined)
    assert.equal(google.issued.length, 3)
    assertSecret(spawned, google)
  })

  for (const [status, how, why] of [
    [401, 'for ever', /refused the ID token \(HTTP 401\); check that/],
    [403, 'for a custom audience', /HTTP 403\); check that .* roles\/run\.invoker/],
  ] as const)
    test(`${status} ${how}: surfaced, with what to do`, async (t) => {
      const { google, run, spawned } = await started(t, ['--verbose', '--audience', 'https://custom'])
      if (status === 401) run.state.refuseNext = Number.MAX_SAFE_INTEGER
      else run.state.isForbidden = true
      await spawned.client.open()
      // An empty list would look as if the service had no tools.
      for (const { value } of [await spawned.client.call('x'), await spawned.client.request('tools/list')]) {
        assert.deepEqual([at(value, 'error', 'code'), at(value, 'error', 'data', 'status')], [-32603, status])
        assert.match(textAt(value, 'error', 'message'), why)
        if (status === 403) assert.equal(at(value, 'error', 'data', 'body'), 'Error: Forbidden')
      }
      assert.equal(at(claimsOf(google.issued[0] ?? ''), 'aud'), 'https://custom')
      // Another token would be of no more use for what is forbidden.
      if (status === 403) assert.equal(google.issued.length, 1)
      assertSecret(spawned, google)
    })

  test('an Authorization of the configuration goes to the application, the token beside it', async (t) => {
    const google = await new Google().start(t)
    const run = await cloudRun(t, google)
    const env = { PATH: process.env['PATH'], ...withMetadata(google.url) }
    const entry = {
      url: run.url.href,
      headers: { Authorization: 'Bearer CANARY-app' },
      auth: { type: 'google' },
    }
    const spawned = spawnProxy(t, { svc: entry }, { env, args: ['--verbose'] })
    await spawned.client.open()
    const heard = await spawned.client.call('svc__work')
    assert.notEqual(at(heard.value, 'result'), undefined, heard.text)
    for (const { headers } of run.seen) {
      assert.equal(headers.authorization, 'Bearer CANARY-app')
      assert.equal(headers['x-serverless-authorization'], `Bearer ${google.issued[0]}`)
    }
    assertSecret(spawned, google)
  })

  test('the metadata server is asked without a proxy, whatever the environment says', async (t) => {
    const asked: string[] = []
    const proxy = await scripted(t, (seen, response) => {
      asked.push(seen.url)
      response.writeHead(502).end()
    })
    const { origin } = proxy.url
    const { google, spawned } = await started(t, [], { HTTP_PROXY: origin, HTTPS_PROXY: origin })
    await spawned.client.open()
    const heard = await spawned.client.call('work')
    assert.notEqual(at(heard.value, 'result'), undefined, heard.text)
    assert.deepEqual([google.issued.length, asked, proxy.sockets.size], [1, [], 0])
  })

  const refused: [title: string, url: string, why: RegExp][] = [
    [
      'an address that no token is sent to',
      'http://10.1.2.3/mcp',
      /tokens are only sent over https, and http:\/\/10\.1\.2\.3 is not/,
    ],
    [
      'no credentials',
      'https://svc-x.run.app/mcp',
      /No credentials found\. Please run "gcloud auth application-default login"/,
    ],
  ]
  for (const [title, url, why] of refused)
    test(`${title}: said before stdin is read`, async (t) => {
      const env = { PATH: process.env['PATH'], ...nowhere }
      const spawned = spawnProgram(t, process.execPath, [cli, '--url', url, '--auth', 'google'], { env })
      assert.equal(await spawned.exited, 1)
      assert.match(spawned.stderr, why)
      assert.deepEqual(spawned.client.heard, [])
    })
})
