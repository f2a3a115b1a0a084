// The hint at `inheritEnv`.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { inheritHint } from '../../src/cli/inherit-hint.js'
import { resolveConfig } from '../../src/config/config.js'

const own = { PATH: '/bin', DATABASE_URL: 'postgres://me:secret@host/db', API_TOKEN: 'x' }

const cases: [title: string, server: object, line: string, want: string | undefined][] = [
  [
    'a variable of the proxy that the server lacks',
    {},
    'KeyError: missing DATABASE_URL',
    'DATABASE_URL is set here and not passed on; add "inheritEnv": ["DATABASE_URL"] to the server',
  ],
  [
    'beside others that are inherited',
    { inheritEnv: ['API_TOKEN'] },
    'DATABASE_URL and API_TOKEN are required',
    'DATABASE_URL is set here and not passed on; add "inheritEnv": ["API_TOKEN","DATABASE_URL"] to the server',
  ],
  ['a variable that the server has', { env: { DATABASE_URL: '' } }, 'DATABASE_URL is empty', undefined],
  ['a variable that is inherited by default', {}, 'not in PATH', undefined],
  [
    'a variable that is not set here either',
    {},
    'missing OTHER_KEY',
    'set it: add "env": { "OTHER_KEY": "…" } to the server',
  ],
  ['a name in another sentence', {}, 'failed with OTHER_KEY', undefined],
  ['a name that is no variable', {}, 'ENOENT: not found', undefined],
]

for (const [title, server, line, want] of cases)
  test(title, () => {
    const value = { mcpServers: { s: { command: 'x', ...server } } }
    const { schemas } = resolveConfig(value, { source: 'm', folder: '/', env: own })
    const config = schemas.get('default')?.servers[0] ?? assert.fail()
    assert.equal(inheritHint(config, own, [line]), want)
  })
