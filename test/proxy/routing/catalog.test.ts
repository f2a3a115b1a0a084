// The lists that clients are shown, made of what lanes list.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { resolveConfig, selectSchema } from '../../../src/config/config.js'
import { quote } from '../../../src/jsonrpc/text.js'
import { type ListItem, listShapes, readListItem } from '../../../src/mcp/lists.js'
import type { ListKind } from '../../../src/mcp/methods.js'
import { type Catalog, Catalogs } from '../../../src/proxy/routing/catalog.js'
import { type CatalogView, wholeCatalog } from '../../../src/proxy/routing/catalog-view.js'
import type { Lane } from '../../../src/upstream/contracts/upstream.js'

/** What a server lists, by its own names. */
type Lists = Partial<Record<ListKind, readonly string[]>>

function itemsOf(kind: ListKind, names: readonly string[]): ListItem[] {
  return names.flatMap((name) => {
    const item = readListItem(Buffer.from(`{${quote(listShapes[kind].key)}:${quote(name)}}`), kind)
    return item === undefined ? [] : [item]
  })
}

function laneOf(name: string, lists: Lists): Lane {
  const context = { source: 'memory', folder: '/', env: {}, home: '/' }
  const config = resolveConfig({ mcpServers: { [name]: { command: 'x' } } }, context)
  const [server] = selectSchema(config, 'default').servers
  assert(server !== undefined)
  return {
    config: server,
    view: {
      state: 'connected',
      failure: undefined,
      facts: undefined,
      graceMs: 0,
      before: { kind: 'nothing' },
      settled: undefined,
      listed: undefined,
      reading: () => undefined,
      pending: () => undefined,
      items: (kind) => itemsOf(kind, lists[kind] ?? []),
      wake: () => false,
      giveUp: () => {},
    },
    known: new Set(),
    keepsTasks: false,
    retired: false,
    shared: true,
    pids: [],
    hurry: () => {},
    call: () => {},
    follow: () => {},
    level: () => {},
    rootsChanged: () => {},
    read: () => {},
    takeSubscriptions: () => [],
    release: () => [],
    leave: () => undefined,
  }
}

interface Stage {
  readonly catalogs: Catalogs
  readonly warnings: string[]
}

function stage(): Stage {
  const warnings: string[] = []
  const catalogs = new Catalogs(({ service = '', message }) => void warnings.push(`${service}: ${message}`))
  return { catalogs, warnings }
}

function cursorOf(catalog: Catalog, kind: ListKind, cursor?: string): string | undefined {
  const page = catalog.page(kind, cursor, 1, { form: 'bare', splice: (line) => line })
  assert(page !== undefined, `${kind} at ${String(cursor)}`)
  return /"nextCursor":"([^"]+)"/.exec(Buffer.from(page).toString())?.[1]
}

test('a change of one list leaves the cursors of the others as they are', () => {
  const { catalogs } = stage()
  const catalog = catalogs.of(
    [laneOf('a', { tools: ['x', 'y'], resources: ['r:1', 'r:2'] })],
    wholeCatalog,
    false,
  )
  const [tools, resources] = [cursorOf(catalog, 'tools'), cursorOf(catalog, 'resources')]
  assert.notEqual(tools, resources)
  catalog.invalidate(['resources', 'templates'])
  assert.equal(cursorOf(catalog, 'tools', tools), undefined, 'the last page')
  assert.equal(catalog.page('resources', resources, 1, { form: 'bare', splice: (line) => line }), undefined)
})

test('a cursor of one list is none of another', () => {
  const catalog = stage().catalogs.of(
    [laneOf('a', { tools: ['x', 'y'], prompts: ['p', 'q'] })],
    wholeCatalog,
    false,
  )
  const cursor = cursorOf(catalog, 'tools')
  cursorOf(catalog, 'prompts')
  assert.equal(catalog.page('prompts', cursor, 1, { form: 'bare', splice: (line) => line }), undefined)
})

test('what several servers list is a warning once, whoever asks and however often lists change', () => {
  const { catalogs, warnings } = stage()
  const many = Array.from({ length: 5000 }, (_, index) => `r:${index}`)
  const lanes = [laneOf('a', { resources: many }), laneOf('b', { resources: many })]
  for (const hasTasks of [false, true])
    for (let change = 0; change < 3; change++) {
      const catalog = catalogs.of(lanes, wholeCatalog, hasTasks)
      assert.equal(catalog.shown('resources').length, 5000)
      catalog.invalidate(['resources'])
    }
  assert.deepEqual(warnings, [
    'b: resources are listed before, by this or another server: "r:0" and 4999 more',
  ])
})

test('a resource of no list belongs to the lane with the most specific template', () => {
  const one = laneOf('a', { templates: ['f:{+path}'] })
  const other = laneOf('b', { templates: ['f:b/{+path}'], resources: ['f:c'] })
  const catalog = stage().catalogs.of([one, other], wholeCatalog, false)
  assert.equal(catalog.resource('f:x'), one)
  assert.equal(catalog.resource('f:b/x'), other)
  assert.equal(catalog.resource('f:c'), other)
  assert.equal(catalog.resource('g:x'), undefined)
})

test('a view hides, renames and rewrites what its clients see, and others see the whole', () => {
  const shortened = itemsOf('tools', ['z'])[0]
  const view: CatalogView = {
    ...wholeCatalog,
    name: 'some',
    naming: () => ({ prefix: false, describe: false, rename: new Map([['x', 'public']]) }),
    item: (_server, kind, item) => {
      if (kind === 'resources' || item.key === 'y') return undefined
      return item.key === 'z' ? shortened : item
    },
    hasUri: (_server, uri) => uri !== 'f:secret',
  }
  const lane = laneOf('a', { tools: ['x', 'y', 'z'], resources: ['r:1'], templates: ['f:{+path}'] })
  const { catalogs } = stage()
  const [seen, whole] = [catalogs.of([lane], view, false), catalogs.of([lane], wholeCatalog, false)]
  assert.deepEqual(
    [seen, whole].map((catalog) => catalog.shown('tools').map(({ publicName }) => publicName)),
    [
      ['public', 'z'],
      ['a__x', 'a__y', 'a__z'],
    ],
  )
  assert.equal(seen.named('tools', 'z')?.item, shortened)
  assert.deepEqual(
    ['y', 'a__y', 'a__x'].map((name) => seen.named('tools', name)),
    [undefined, undefined, undefined],
  )
  assert.equal(seen.resource('r:1'), undefined)
  assert.equal(seen.resource('f:open'), lane)
  assert.equal(seen.resource('f:secret'), undefined)
  assert.equal(catalogs.of([lane], view, false), seen, 'clients with one view share its tables')
})
