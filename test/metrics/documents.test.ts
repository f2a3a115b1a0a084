// Every metric that the page, the dashboard and the alert rules name exists, and the page names all that exist.

import { strict as assert } from 'node:assert'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { descriptions } from '../../src/metrics/registry.js'
import { root } from '../support/source-text.js'

const all = [...descriptions.values()]
const names = new Set(all.map(({ name }) => name))
const labels = new Set(all.flatMap((each) => each.labels.map(({ name }) => name)))

function namedIn(path: string): Set<string> {
  const found = readFileSync(join(root, path), 'utf8').match(/\bmcps?_[a-z_]*[a-z]\b/g) ?? []
  const whole = found.map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
  return new Set(whole.filter((name) => !labels.has(name) && !/^mcp_(?:server|client)$/.test(name)))
}

test('the page names every metric', () =>
  assert.deepEqual([...namedIn('docs/metrics.md')].sort(), [...names].sort()))

for (const file of readdirSync(join(root, 'examples/observability')))
  test(`${file} names metrics that exist`, () => {
    const unknown = [...namedIn(`examples/observability/${file}`)].filter((name) => !names.has(name))
    assert.deepEqual(unknown, [])
  })

test('no two metrics have one name, and a counter alone ends with _total', () => {
  assert.equal(new Set(all.map(({ otel }) => otel)).size, names.size)
  for (const { name, kind } of all) assert.equal(name.endsWith('_total'), kind === 'counter', name)
})
