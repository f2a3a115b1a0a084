import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { answerOf, connect, json, scripted, testLimits } from './support/scripted.js'

const PAST = 'Expires=Thu, 01 Jan 1970 00:00:00 GMT'

/** The title, the configured cookies, those that the server sets, and those that the client sends. */
const cases: readonly (readonly [string, string | undefined, readonly string[], string | undefined])[] = [
  ['one', undefined, ['a=1; Path=/; HttpOnly'], 'a=1'],
  ['the last of a name', undefined, ['a=1', 'b=2', 'a=3; Secure'], 'a=3; b=2'],
  ['what is no cookie', undefined, ['a', 'a b=1', 'a=1,2'], undefined],
  ['what the server ends', undefined, ['a=1', 'b=2', 'a=; Max-Age=0; Path=/', `b=; ${PAST}`, 'c=3'], 'c=3'],
  ['what lasts', undefined, ['a=1; Max-Age=060', 'b=2; Expires=Fri, 01 Jan 2100 00:00:00 GMT'], 'a=1; b=2'],
  ['only what is configured', 'a=1; b=2', [], 'a=1; b=2'],
  ['a name that was set takes the place of a configured one', 'a=1; b=2', ['c=4', 'a=3'], 'a=3; b=2; c=4'],
  ['what is configured may be no pair', 'CANARY;', ['b=2'], 'CANARY; b=2'],
  ['no more and no larger ones than allowed', undefined, ['a=1', 'b=22', 'c=3', 'a=333'], 'a=1; b=22'],
]

for (const [title, configured, set, sent] of cases)
  test(`cookies: ${title}`, async (t) => {
    const server = await scripted(t, (seen, response) => {
      response.setHeader('set-cookie', seen.id === 1 ? set : [])
      json(response, answerOf(seen.id))
    })
    const { heard, request } = connect(t, server.url, {
      headers: configured === undefined ? {} : { Cookie: configured },
      limits: { ...testLimits, ...(title.startsWith('no more') && { cookiesMax: 2, cookieBytesMax: 4 }) },
    })
    for (const id of [1, 2]) {
      request(id, 'work')
      await heard.until(() => heard.messages.length === id)
    }
    assert.equal(server.seen[1]?.headers.cookie, sent)
  })
