// The legs to clients.

import assert from 'node:assert'
import { test } from 'node:test'
import { SessionClientLeg } from '../../src/mcp/eras/session-client-leg.js'
import { sessionRevisions } from '../../src/mcp/revisions.js'
import { clientLegContract } from '../contracts/client-leg.js'

const identity = { name: 'p', version: '1' }

clientLegContract('a client of the handshake', () => new SessionClientLeg(identity, {}, false))

for (const { version, orphanId } of sessionRevisions)
  test(`an error that answers no id is said as ${version} has it`, () => {
    const leg = new SessionClientLeg(identity, { version }, false)
    const said = leg.refusal(undefined, { code: -32700, message: 'no' }).toString()
    assert.equal(said.includes('"id":null'), orphanId === 'null')
    assert.match(said, /"code":-32700/)
  })
