// The addresses at which the inspector may be served.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { refuseOpenPages } from '../../src/cli/inspect.js'
import { resolveConfig } from '../../src/config/config.js'

const token = 'a-token'
const cases: [host: string, server: object, isRefused: boolean][] = [
  ['127.0.0.1', {}, false],
  ['[::1]', {}, false],
  ['0.0.0.0', {}, true],
  ['0.0.0.0', { token }, true],
  ['0.0.0.0', { ui: { remote: true } }, true],
  ['0.0.0.0', { token, ui: { remote: true } }, false],
]

for (const [host, server, isRefused] of cases)
  test(`${host} with ${JSON.stringify(server)} ${isRefused ? 'is refused' : 'is served'}`, () => {
    const config = resolveConfig({ mcpServers: {}, server }, { source: 'f', folder: '/', env: {} })
    const check = (): void => refuseOpenPages(config, host)
    if (isRefused) assert.throws(check, /"remote": true \} and a token/)
    else check()
  })
