// One server of a configuration, under its own names.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ConfigError } from '../../src/config/problems.js'
import { onlyServer } from '../../src/config/single-server.js'

const github = { command: 'github', describe: true }
const own = { command: 'github', prefix: false, describe: false }
const files = { command: 'files', disabled: true }
const off = { command: 'off', enabled: false }
const servers = { github, files, off }

describe('one server alone', () => {
  const shapes: [string, unknown, string, unknown][] = [
    [
      'mcpServers',
      { mcpServers: servers, server: { port: 1, tokens: [{}] }, profiles: { p: { servers: ['files'] } } },
      'default',
      { mcpServers: { github: own }, server: { port: 1 } },
    ],
    ['servers of an editor', { servers }, 'default', { servers: { github: own } }],
    [
      'schemas',
      { schemas: { a: { mcpServers: servers }, b: { mcpServers: {} } } },
      'a',
      { schemas: { a: { mcpServers: { github: own } }, b: { mcpServers: {} } } },
    ],
    [
      'a schema that is not there is reported by who selects it',
      { mcpServers: servers },
      'b',
      { mcpServers: servers },
    ],
    ['a value that is no configuration is reported by who reads it', [], 'default', []],
    ['an entry that is none, too', { mcpServers: { github: 5 } }, 'default', { mcpServers: { github: 5 } }],
  ]
  for (const [title, value, schema, wanted] of shapes)
    test(`leads to one server: ${title}`, () =>
      assert.deepEqual(onlyServer(value, { schema, server: 'github' }, 'file'), wanted))

  const refused: [string, string, RegExp][] = [
    ['githup', 'a server that is nearly there', /has no server "githup"; did you mean "github"\?/],
    ['linear', 'a server that is not there', /has no server "linear"; there is github, files, off/],
    ['toString', 'a name that every object has', /has no server "toString"/],
    ['off', 'a server that is disabled as other clients write it', /"off" disabled; mcps-proxy enable off/],
    ['files', 'a server that is disabled', /"files" disabled; mcps-proxy enable files/],
  ]
  for (const [server, title, wanted] of refused)
    test(`is refused for ${title}`, () =>
      assert.throws(
        () => onlyServer({ mcpServers: servers }, { schema: 'default', server }, 'file'),
        (error) =>
          error instanceof ConfigError && error.code === 'CONFIG_SERVER' && wanted.test(error.message),
      ))
})
