// The error for a missing ID token names a remedy and contains no secret.

import { strict as assert } from 'node:assert'
import { generateKeyPairSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import type { ServerResponse } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { findGoogleCredentials } from '../../src/upstream/auth/google-id-token.js'
import { type Scope, scratch } from '../integration/support/spawned.js'
import { type Seen, json, scripted } from '../transports/support/scripted.js'

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  publicKeyEncoding: { type: 'spki', format: 'pem' },
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
})

const files = {
  authorized_user: {
    type: 'authorized_user',
    client_id: 'client-id.apps.example',
    client_secret: 'CANARY-secret',
    refresh_token: 'CANARY-refresh',
  },
  service_account: { type: 'service_account', client_email: 'a@b.example', private_key: privateKey },
} as const

type Answer = (seen: Seen, response: ServerResponse) => void

async function said(scope: Scope, kind: keyof typeof files, answer: Answer): Promise<string> {
  const { url } = await scripted(scope, answer, { raw: true })
  const file = join(scratch(scope), 'credentials.json')
  writeFileSync(file, JSON.stringify(files[kind]))
  const before = process.env['GOOGLE_APPLICATION_CREDENTIALS']
  process.env['GOOGLE_APPLICATION_CREDENTIALS'] = file
  try {
    const auth = { audience: 'https://svc', impersonate: undefined }
    const fetchToken = await findGoogleCredentials(auth, (_to, init) => fetch(url, init))
    return await fetchToken()
  } catch (error) {
    return error instanceof TransportError ? `${error.code} ${error.message}` : 'nothing'
  } finally {
    if (before === undefined) delete process.env['GOOGLE_APPLICATION_CREDENTIALS']
    else process.env['GOOGLE_APPLICATION_CREDENTIALS'] = before
  }
}

const refused =
  (error: unknown, description?: string): Answer =>
  (_seen, response) =>
    json(response, JSON.stringify({ error, error_description: description }), 400)

const cases: [string, keyof typeof files, Answer, RegExp][] = [
  [
    'that refuses as OAuth says it',
    'authorized_user',
    refused('invalid_client', 'The OAuth client was not found.'),
    /^TRANSPORT_AUTH Authentication failed: no ID token: \S+ answered HTTP 400: invalid_client$/,
  ],
  [
    'that refuses as other services do',
    'service_account',
    refused({ code: 403, status: 'PERMISSION_DENIED', message: "Permission 'x.y' denied" }),
    /answered HTTP 400: PERMISSION_DENIED$/,
  ],
  [
    'that knows the key no more',
    'service_account',
    refused('invalid_grant', 'Invalid JWT Signature.'),
    /^TRANSPORT_AUTH Authentication failed: no ID token: \S+ answered HTTP 400: invalid_grant; run "gcloud auth application-default login", or make a new key$/,
  ],
  [
    'that has a page for people',
    'authorized_user',
    (_seen, response) => response.writeHead(403).end('<h1>Your company blocks this</h1>'),
    /answered HTTP 403$/,
  ],
  ['that answers no token', 'service_account', (_, response) => json(response, '"x"'), /holds none$/],
]
for (const [title, kind, answer, wanted] of cases)
  test(`a token endpoint ${title}`, async (t) => assert.match(await said(t, kind, answer), wanted))

const echoes: [string, (text: string) => unknown, number][] = [
  ['in a description', (text) => ({ error: 'x', error_description: text }), 400],
  ['in a message', (text) => ({ error: { message: text, status: text } }), 400],
  ['as the error', (text) => ({ error: text }), 400],
  ['alone', (text) => text, 400],
  ['alone, as if it were good', (text) => text, 200],
]
for (const [title, wrapped, status] of echoes)
  for (const kind of ['authorized_user', 'service_account'] as const)
    test(`a token endpoint that repeats what it was sent, ${title}: ${kind}`, async (t) => {
      let sent = ''
      const text = await said(t, kind, (seen, response) => {
        sent = new URLSearchParams(seen.body).get('assertion') ?? ''
        json(response, JSON.stringify(wrapped(decodeURIComponent(seen.body).slice(0, 400))), status)
      })
      assert.doesNotMatch(text, /CANARY/)
      assert.equal(sent.length > 30 && text.includes(sent.slice(-30)), false)
      assert.equal(text.includes('eyJ'), false, text)
      assert.doesNotMatch(text, /\[object Object\]|undefined/)
    })
