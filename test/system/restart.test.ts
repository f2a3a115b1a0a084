// Official clients of both versions keep their sessions while the gateway behind nginx is started again under load: no call
// that was answered is lost, none runs twice, and none fails where the listening socket is held by another program.
//
// PROOF=full: 10 clients of each version and five restarts of each kind, in place of fewer.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { freePort } from '../integration/support/free-port.js'
import { cli } from '../integration/support/programs.js'
import { missing } from '../integration/support/sdk-v2.js'
import { type Scope, configFile, scratch } from '../integration/support/spawned.js'
import { balancers } from './support/balancers.js'
import { HeldSocket } from './support/held-socket.js'
import { Ledger, countsOf, wrongCalls } from './support/ledger.js'
import { connectAll, stopAll } from './support/ledger-clients.js'
import { Restartable } from './support/restartable.js'
import { goesOn } from './support/progress.js'

const isFull = process.env['PROOF'] === 'full'
const perVersion = isFull ? 10 : 4
const restarts = isFull ? 5 : 2
const isAskable = (index: number): boolean => index % 2 === 1

const [nginx] = balancers
assert(nginx !== undefined)

/** The arguments of a gateway with a separate home. */
function argsOf(t: Scope, ledger: Ledger, port?: number): string[] {
  const servers = { ledger: ledger.server({ prefix: false, describe: false }) }
  const config = configFile(t, servers, { server: { allowedHosts: ['127.0.0.1'] } })
  return [cli, 'http', '--config', config, ...(port === undefined ? [] : ['--port', String(port)])]
}

async function bound(t: Scope, ledger: Ledger) {
  const port = await freePort()
  const env = { HOME: scratch(t) }
  return new Restartable(t, { command: process.execPath, args: argsOf(t, ledger, port), env, port })
}

function held(t: Scope, ledger: Ledger) {
  const env = `HOME=${scratch(t)}`
  return HeldSocket.open(t, 'env', [env, process.execPath, ...argsOf(t, ledger)])
}

const cases = [
  ['SIGTERM', bound, 'SIGTERM'],
  ['kill -9', bound, 'SIGKILL'],
  ['SIGTERM, and the socket is held', held, 'SIGTERM'],
] as const

describe('a gateway that is started again under load', { skip: missing }, () => {
  for (const [title, open, signal] of cases)
    test(title, async (t) => {
      const ledger = new Ledger(t)
      const gateway = await open(t, ledger)
      await gateway.start()
      const { port } = await nginx.start(t, gateway.port)
      const clients = await connectAll(t, port, { perVersion, isAskable })
      for (const client of clients) client.start()
      for (let done = 0; done < restarts; done++) {
        await goesOn(clients, gateway)
        await gateway.restart(signal)
      }
      await goesOn(clients, gateway)
      const { calls, foreign } = await stopAll(clients)
      t.diagnostic(JSON.stringify(countsOf(calls)))
      assert.deepEqual(wrongCalls(ledger.lines, calls), [])
      assert.deepEqual(foreign, [])
      if (open === held) assert.deepEqual(Object.keys(countsOf(calls)), ['answered'])
    })
})

test('a line of the ledger that is missing, stands twice or belongs to no client is a violation', () => {
  const calls = ['a', 'b', 'c'].map((n) => ({ n, end: n === 'c' ? 'broken' : 'answered' }))
  assert.deepEqual(wrongCalls(['run a', 'run b'], calls), [])
  assert.deepEqual(wrongCalls(['run a', 'run c'], calls), ['b was answered and never run'])
  assert.deepEqual(wrongCalls(['run a', 'run b', 'run b'], calls), ['b was run 2 times'])
  assert.deepEqual(wrongCalls(['run a', 'run b', 'run d'], calls), ['d was run, and no client made it'])
  assert.deepEqual(wrongCalls(['run a'], [{ n: 'a', end: 'Session not found' }]), ['a: Session not found'])
})
