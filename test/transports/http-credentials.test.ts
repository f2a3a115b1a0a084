import assert from 'node:assert'
import { describe, test } from 'node:test'
import { TransportError } from '../../src/jsonrpc/jsonrpc-errors.js'
import type {
  Credential,
  CredentialRefusal,
  CredentialVerdict,
  HttpCredentials,
} from '../../src/transports/http-client/options.js'
import { type Handler, answerOf, called, json, scripted } from './support/scripted.js'

/** Credentials that record refusals. The nth credential has the secret n. */
class NotingCredentials implements HttpCredentials {
  asked = 0
  readonly told: (CredentialRefusal & { readonly secret: string })[] = []
  readonly #verdict: CredentialVerdict
  #number = 1

  constructor(verdict: CredentialVerdict) {
    this.#verdict = verdict
  }

  credential(): ReturnType<HttpCredentials['credential']> {
    this.asked++
    const secret = String(this.#number)
    return { fields: ['Authorization', `DPoP ${secret}`, 'DPoP', `proof ${secret}`], secret }
  }

  async refused(sent: Credential | undefined, refusal: CredentialRefusal): Promise<CredentialVerdict> {
    this.told.push({ ...refusal, secret: sent?.secret ?? 'nothing' })
    this.#number++
    return this.#verdict
  }
}

const challenges = ['Bearer error="insufficient_scope", scope="a b"', 'Basic realm="x"']

/** Refuses requests with the first credential. */
function refusing(status: number, otherwise: Handler): Handler {
  return (seen, response, request) => {
    const isFirst = seen.headers.authorization === 'DPoP 1' && seen.headers.dpop === 'proof 1'
    if (isFirst) response.writeHead(status, { 'www-authenticate': challenges }).end()
    else otherwise(seen, response, request)
  }
}

const answering: Handler = (seen, response) => json(response, answerOf(seen.id))

describe('credentials', () => {
  for (const status of [401, 403])
    test(`hear of HTTP ${status} with its challenges, and the request is made again`, async (t) => {
      const server = await scripted(t, refusing(status, answering))
      const credentials = new NotingCredentials('again')
      await called(t, server.url, { credentials })
      assert.deepEqual(credentials.told, [{ status, challenges, rpc: 'work', secret: '1' }])
      assert.equal(credentials.asked, 2)
    })

  test('of another process are tried, and then one that is new', async (t) => {
    const server = await scripted(t, (_, response) => response.writeHead(401).end())
    const verdicts = ['other', 'other', 'again', 'again'] as const
    for (const [first, made] of [
      [0, 3],
      [1, 3],
      [2, 2],
    ] as const) {
      const seen = server.seen.length
      const left = verdicts.slice(first)
      const credentials: HttpCredentials = { credential: () => undefined, refused: async () => left.shift() }
      await called(t, server.url, { credentials })
      assert.equal(server.seen.length - seen, made)
    }
  })

  test('are not sent over http to another machine', async (t) => {
    const credentials = new NotingCredentials('again')
    const { heard } = await called(t, new URL('http://192.0.2.1/mcp'), { credentials })
    assert.match(heard.failures[0]?.error.message ?? '', /tokens are only sent over https/)
  })

  test('that have nothing better leave it to the server to say why', async (t) => {
    const server = await scripted(t, refusing(403, answering))
    const { heard } = await called(t, server.url, { credentials: new NotingCredentials(undefined) })
    assert.match(heard.failures[0]?.error.message ?? '', /refused 403/)
    assert.equal(server.seen.length, 1)
  })

  test('that know why say it in place of the server', async (t) => {
    const server = await scripted(t, refusing(401, answering))
    const error = new TransportError('TRANSPORT_AUTH', 'a login is needed')
    const { heard } = await called(t, server.url, { credentials: new NotingCredentials(error) })
    assert.equal(heard.failures[0]?.error, error)
  })

  test('hear nothing of other refusals', async (t) => {
    const server = await scripted(t, refusing(404, answering))
    const credentials = new NotingCredentials('again')
    await called(t, server.url, { credentials })
    assert.deepEqual(credentials.told, [])
  })
})
