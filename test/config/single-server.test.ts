// One server of a configuration, with its original names.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../src/config/config.js'
import { ConfigError } from '../../src/config/problems.js'

const github = { command: 'github', describe: true }
const servers = {
  github,
  files: { command: 'files', disabled: true },
  off: { command: 'off', enabled: false },
}

function read(value: unknown, schema: string, server: string): unknown[] {
  const only = { schema, server }
  const config = resolveConfig(value, { source: 'file', folder: '/', env: {}, home: '/home/ann', only })
  const found = config.schemas.get(schema)?.servers ?? []
  return found.map(({ name, prefix, describe: describes }) => [name, prefix, describes])
}

describe('one server alone', () => {
  const wrong = { command: 5, unknown: true }
  const shapes: [string, unknown, string][] = [
    ['mcpServers', { mcpServers: servers, profiles: { p: { servers: ['gone'] } } }, 'default'],
    ['servers of an editor', { servers }, 'default'],
    ['schemas', { schemas: { a: { mcpServers: servers }, b: { mcpServers: {} } } }, 'a'],
    [
      'beside profiles and tokens with mistakes',
      { mcpServers: servers, server: { port: 1, tokens: [{}] }, profiles: { p: { servers: 5 }, q: 5 } },
      'default',
    ],
    ['beside one with mistakes', { mcpServers: { wrong, ...servers } }, 'default'],
  ]
  for (const [title, value, schema] of shapes)
    test(`is read: ${title}`, () =>
      assert.deepEqual(read(value, schema, 'github'), [['github', false, false]]))

  test('of a schema that is not there is reported by who selects the schema', () =>
    assert.deepEqual(read({ mcpServers: servers }, 'b', 'github'), []))

  const refused: [string, string, RegExp][] = [
    ['githup', 'a server that is nearly there', /has no server "githup"; did you mean "github"\?/],
    ['linear', 'a server that is not there', /has no server "linear"; there is github, files, off/],
    ['toString', 'a name that every object has', /has no server "toString"/],
    ['off', 'a server that is disabled as other clients write it', /off is disabled; mcps-proxy enable off/],
    ['files', 'a server that is disabled', /files is disabled; mcps-proxy enable files/],
  ]
  for (const [server, title, wanted] of refused)
    test(`is refused for ${title}`, () =>
      assert.throws(
        () => read({ mcpServers: servers }, 'default', server),
        (error) => error instanceof ConfigError && wanted.test(error.message),
      ))
})
