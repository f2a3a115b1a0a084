// The protocol's official conformance suite, whose client comes through nginx or HAProxy.

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { resolve } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import type { Configuration } from '../../src/config/configuration.js'
import { resolveConfig } from '../../src/config/config.js'
import { openGateway } from '../../src/gateway/gateway.js'
import { root } from '../integration/support/programs.js'
import { references } from '../integration/support/reference.js'
import { balancers } from './support/balancers.js'

test('what passes directly passes behind each balancer', async (t) => {
  const entry = { ...(await references.stdio()), prefix: false, describe: false }
  const configuration = (...origins: readonly string[]): Configuration => {
    const server = { port: 0, allowedHosts: ['127.0.0.1', 'localhost'], cors: { origins } }
    const value = { server, mcpServers: { reference: entry } }
    return resolveConfig(value, { source: 'test', folder: root, env: process.env })
  }
  const addresses: string[] = []
  for (const balancer of balancers) {
    const gateway = await openGateway(configuration())
    t.after(() => gateway.close(0))
    const { port } = await balancer.start(t, gateway.port)
    // The suite has a page at the address that it was given, and expects it to be served.
    await gateway.reload(configuration(`http://127.0.0.1:${port}`, `http://localhost:${port}`))
    addresses.push(`${balancer.title.replaceAll(' ', '-')}=http://127.0.0.1:${port}/mcp`)
  }
  const suite = spawn(process.execPath, [resolve(root, 'scripts/conformance.mjs'), '--at', ...addresses], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  t.after(() => void suite.kill())
  const [code] = await once(suite, 'close')
  assert.equal(code, 0)
})
