// What `doctor` says of lines on stdout that are no messages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mendsOf } from '../../src/cli/mends.js'
import { resolveConfig, selectSchema } from '../../src/config/config.js'

const value = { mcpServers: { s: { command: 'x' } } }
const [server] = selectSchema(resolveConfig(value, { source: 'f', folder: '/', env: {} }), 'default').servers
const warnings = ['stdout has a line that is no JSON-RPC message: hello']

for (const [failure, mend] of [
  [undefined, /look for its option for quiet output; the line is skipped/],
  ["'s' exited with code 1", /look for its option for quiet output; the line is skipped/],
  [
    "'s' did not answer initialize within 9 ms (startTimeout)",
    /may be no MCP server .* "command" and "args" of 's'/,
  ],
] as const)
  test(`a server that printed such a line and ${failure ?? 'works'}`, () => {
    assert(server !== undefined)
    const [first = '', ...more] = mendsOf(server, { failure, warnings, lastWords: [] })
    assert.match(first, mend)
    assert.deepEqual(more, [])
  })
