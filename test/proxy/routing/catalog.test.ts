import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { noCapabilities } from '../../../src/mcp/capabilities.js'
import type { ListKind } from '../../../src/mcp/methods.js'
import { latestSession } from '../../../src/mcp/revisions.js'
import { type Catalog, Catalogs } from '../../../src/proxy/routing/catalog.js'
import { CatalogView } from '../../../src/proxy/routing/views.js'
import type { Lane } from '../../../src/upstream/contracts/upstream.js'
import { FakeServer, type Lists } from '../support/fake-server.js'

const whole = new CatalogView('')
const reader = {
  context: { revision: latestSession, capabilities: noCapabilities },
  splice: (line: Buffer) => line,
}

function laneOf(name: string, lists: Lists): Lane {
  return new FakeServer(name, lists, []).lane
}

function stage() {
  const warnings: string[] = []
  const catalogs = new Catalogs(({ service = '', message }) => void warnings.push(`${service}: ${message}`))
  return { catalogs, warnings }
}

function cursorOf(catalog: Catalog, kind: ListKind, cursor?: string): string | undefined {
  const page = catalog.page(kind, cursor, 1, reader)
  assert(page !== undefined, `${kind} at ${String(cursor)}`)
  return /"nextCursor":"([^"]+)"/.exec(Buffer.from(page).toString())?.[1]
}

const first = laneOf('a', { tools: ['x', 'both', 'x__y'], prompts: ['p'] })
const second = laneOf('b', { tools: ['both', 'z'], prompts: ['p'] })
const olderNames = new Map([
  ['old', 'z'],
  ['x', 'z'],
])
const lanes = [first, { ...second, config: { ...second.config, olderNames } }]
const cases: readonly (readonly [string, 'tools' | 'prompts', string, string | undefined])[] = [
  ['public', 'tools', 'a__x', 'a x'],
  ['public, of a tool with the separator in its own name', 'tools', 'a__x__y', 'a x__y'],
  ['own, of one server', 'tools', 'z', 'b z'],
  ['own, of two servers', 'tools', 'both', undefined],
  ['public, of a tool that two servers have', 'tools', 'b__both', 'b both'],
  ['older', 'tools', 'old', 'b z'],
  ['older, which another tool has today', 'tools', 'x', 'a x'],
  ['of a tool, as a prompt', 'prompts', 'a__x', undefined],
  ['public, of a prompt', 'prompts', 'b__p', 'b p'],
  ['of nothing', 'tools', 'a__none', undefined],
]
const catalog = stage().catalogs.of(lanes, whole, false)
for (const [title, kind, name, wanted] of cases)
  test(`a name: ${title}: ${wanted ?? 'nothing has it'}`, () => {
    const found = catalog.named(kind, name)
    assert.equal(found && `${found.lane.config.name} ${found.item.key}`, wanted)
  })

test('a name that a server lists twice stands once in the list', () => {
  const { catalogs, warnings } = stage()
  const catalog = catalogs.of([laneOf('a', { tools: ['x', 'x'] })], whole, false)
  const shownNames = catalog.shown('tools').map(({ publicName }) => publicName)
  assert.deepEqual(shownNames, ['a__x'])
  assert.deepEqual(warnings, [])
})

test('a cursor goes on behind its item, and is none when the list has the item no more', () => {
  const server = new FakeServer('a', { tools: ['x', 'y'] }, [])
  const catalog = stage().catalogs.of([server.lane], whole, false)
  const cursor = cursorOf(catalog, 'tools')
  server.lists = { tools: ['w', 'x', 'y'] }
  assert.equal(cursorOf(catalog, 'tools', cursor), undefined, 'the last page')
  server.lists = { tools: ['y'] }
  assert.equal(catalog.page('tools', cursor, 1, reader), undefined)
})

test('a cursor of one list is none of another', () => {
  const catalog = stage().catalogs.of([laneOf('a', { tools: ['x', 'y'], prompts: ['p', 'q'] })], whole, false)
  const cursor = cursorOf(catalog, 'tools')
  cursorOf(catalog, 'prompts')
  assert.equal(catalog.page('prompts', cursor, 1, reader), undefined)
})

test('a name that two servers have is warned about once, however often lists change', () => {
  const { catalogs, warnings } = stage()
  const servers = ['a', 'b'].map((name) => new FakeServer(name, { tools: ['x'] }, []))
  const lanes = servers.map(({ lane }) => ({ ...lane, config: { ...lane.config, prefix: false } }))
  for (const hasTasks of [false, true])
    for (let change = 0; change < 3; change++) {
      assert.equal(catalogs.of(lanes, whole, hasTasks).shown('tools').length, 2)
      for (const server of servers) server.lists = { tools: ['x'] }
    }
  assert.deepEqual(warnings, ["b: 'x' has the name of 'x' of 'a' (x)"])
})

test('a resource of no list belongs to the lane with the most specific template', () => {
  const one = laneOf('a', { templates: ['f:{+path}'] })
  const other = laneOf('b', { templates: ['f:b/{+path}'], resources: ['f:c'] })
  const catalog = stage().catalogs.of([one, other], whole, false)
  assert.equal(catalog.resource('f:x'), one)
  assert.equal(catalog.resource('f:b/x'), other)
  assert.equal(catalog.resource('f:c'), other)
  assert.equal(catalog.resource('g:x'), undefined)
})
