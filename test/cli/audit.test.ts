// The command audits every call of its client, without secrets, once the call has ended.

import { strict as assert } from 'node:assert'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import process from 'node:process'
import { test } from 'node:test'
import { at, parsed, textAt } from '../integration/support/json.js'
import { cli, itServer } from '../integration/support/programs.js'
import { scratch, spawnProgram } from '../integration/support/spawned.js'

const secret = 'a-very-secret-value'

test('--stdio writes a line for each call of its client', async (t) => {
  const folder = scratch(t)
  const [config, file] = [join(folder, 'config.json'), join(folder, 'audit.jsonl')]
  const mcpServers = { a: itServer({ API_KEY: secret }) }
  const limits = [{ tools: 'a__seen', perMinute: 1 }]
  writeFileSync(config, JSON.stringify({ mcpServers, limits, audit: { file, payloads: true } }))
  const { client, child, exited } = spawnProgram(t, process.execPath, [cli, '--stdio', '--config', config])
  await client.open()
  await client.request('tools/list')
  for (const [name, n] of [
    ['a__nonce', secret],
    ['a__seen', ''],
    ['a__seen', ''],
  ])
    await client.call(name ?? '', { n })
  child.stdin.end()
  assert.equal(await exited, 0)
  const text = readFileSync(file, 'utf8')
  const lines = text.trimEnd().split('\n').map(parsed)
  const rows = lines.map((line) =>
    ['clientName', 'transport', 'item', 'outcome', 'reason'].map((key) => at(line, key)),
  )
  assert.deepEqual(rows, [
    ['it', 'stdio', 'nonce', 'answered', undefined],
    ['it', 'stdio', 'seen', 'answered', undefined],
    ['it', 'stdio', 'seen', 'refused', 'rate-limited'],
  ])
  assert.equal(textAt(lines[0], 'arguments'), '{"n":"[redacted]"}')
  assert(!text.includes(secret))
  assert.equal(statSync(file).mode & 0o777, 0o600)
})
