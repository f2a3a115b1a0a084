// TCP keep-alive as `/proc/net/tcp` of Linux shows it.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { connectPlain } from '../../src/transports/http1/client.js'
import { until } from '../integration/support/waiting.js'
import { front } from './support/http.js'
import { rawServer } from './support/raw-server.js'

const TABLE = '/proc/net/tcp'
const skip = !existsSync(TABLE)

/** The kernel's code of the keep-alive timer. */
const KEEP_ALIVE = '02'

/** The running kernel timer of the local connection between these ports, on the side of `own`. */
function timerOf(own: number, other: number): string | undefined {
  const rows = readFileSync(TABLE, 'utf8')
    .split('\n')
    .map((row) => row.trim().split(/\s+/))
  const row = rows.find((each) => each[1] === addressOf(own) && each[2] === addressOf(other))
  const [kind, ticks] = row?.[5]?.split(':') ?? []
  // In hundredths of a second.
  assert.ok(kind !== KEEP_ALIVE || Number.parseInt(ticks ?? '', 16) <= 3100, ticks)
  return kind
}

function addressOf(port: number): string {
  return `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`
}

async function connected(port: number, after: (run: () => void) => void): Promise<Socket> {
  const socket = connectPlain({ host: '127.0.0.1', port, isTls: false })
  after(() => socket.destroy())
  await new Promise((resolve) => socket.once('connect', resolve))
  return socket
}

test('a connection to a remote server is asked after 30 s of silence', { skip }, async (t) => {
  const { port } = await rawServer(t, () => undefined)
  const socket = await connected(port, (run) => t.after(run))
  // A table that changes while it is read may lack a row.
  await until(() => timerOf(Number(socket.localPort), port) === KEEP_ALIVE)
})

test('a connection of a client to the front too', { skip }, async (t) => {
  const { port } = await front(t)
  const socket = await connected(port, (run) => t.after(run))
  // The front accepts the connection asynchronously.
  await until(() => timerOf(port, Number(socket.localPort)) === KEEP_ALIVE)
})
