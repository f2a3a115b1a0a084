// Profiles: which names a pattern matches, and how the names depend on those without a profile.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { resolveConfig } from '../../../src/config/config.js'
import type { Configuration } from '../../../src/config/configuration.js'
import { type ListItem, readListItem } from '../../../src/mcp/list-items.js'
import { Views } from '../../../src/proxy/routing/views.js'
import type { CatalogView } from '../../../src/proxy/routing/views.js'
import type { ServerConfig } from '../../../src/upstream/contracts/server-config.js'

const mcpServers = {
  git: { command: 'x', tools: { rename: { old: 'new' }, deny: ['gone'] } },
  bare: { command: 'x', prefix: false },
}

function configured(profile: object): Configuration {
  const value = { mcpServers, profiles: { p: profile } }
  return resolveConfig(value, { source: 'test', folder: '/', env: {}, home: '/' })
}

function viewOf(profile: object): { readonly view: CatalogView; readonly servers: readonly ServerConfig[] } {
  const { profiles, schemas } = configured(profile)
  const servers = schemas.get('default')?.servers ?? []
  const views = new Views()
  views.change(
    profiles,
    servers.map(({ name }) => name),
  )
  const view = views.of('profile:p')
  assert(view !== undefined)
  return { view, servers }
}

function toolCalled(name: string): ListItem {
  return readListItem(Buffer.from(JSON.stringify({ name })), 'tools') ?? assert.fail()
}

describe('patterns', () => {
  /** `allow`, `deny`, a URI, and whether a client sees the URI. */
  const cases: readonly (readonly [readonly string[] | undefined, readonly string[], string, boolean])[] = [
    [undefined, [], 'a', true],
    [[], [], 'a', false],
    [['a'], [], 'a', true],
    [['a'], [], 'ab', false],
    [['a*'], [], 'a', true],
    [['*'], [], '', true],
    [['a*b'], [], 'ab', true],
    [['a*b'], [], 'axbxb', true],
    [['a*b'], [], 'axc', false],
    [['ab*ba'], [], 'aba', false],
    [['a*b*c'], [], 'aXbXc', true],
    [['a*b*c'], [], 'aXc', false],
    [['a**c'], [], 'ac', true],
    [['a.c'], [], 'abc', false],
    [['A'], [], 'a', false],
    [['*'], ['*secret*'], 'a secret thing', false],
    [['x', 'a*'], ['b'], 'ab', true],
    [['file:///a/*'], [], 'file:///a/b.c/..d/e', true],
    ...['../b', 'x/../../b', '%2e%2E/b', '..%2fb', '..\\b', 'x%5c..%5c..%5cb', '.', './b', '..?x', '..'].map(
      (path) => [['file:///a/*'], [], `file:///a/${path}`, false] as const,
    ),
    [undefined, [], 'file:///a/../b', true],
    ...['FILE:///a/b', 'file:/a/b', 'file://localhost/a/b', 'file:///%61/b', 'file:///a%2Fb'].map(
      (uri) => [undefined, ['file:///a/*'], uri, false] as const,
    ),
    [undefined, ['file:///ä/*'], 'file:///%c3%a4/b', false],
    [undefined, ['file:///a/*'], 'file:///ab/%61', true],
  ]
  for (const [allow, deny, uri, isShown] of cases)
    test(`${JSON.stringify({ allow, deny })} ${isShown ? 'shows' : 'hides'} "${uri}"`, () =>
      assert.equal(viewOf({ resources: { allow, deny } }).view.hasUri(uri), isShown))

  test('with many stars take no longer for a long name', () => {
    const { view } = viewOf({ resources: { allow: [`${'*a'.repeat(40)}*b`] } })
    assert.equal(view.hasUri('a'.repeat(1_000_000)), false)
  })

  test('fit the names that clients without a profile see, and not those of the server', () => {
    const { view, servers } = viewOf({ tools: { allow: ['git__new', 'git__gone', 'bare_tool', 'old'] } })
    const [git, bare] = servers
    assert(git !== undefined && bare !== undefined)
    const shown = (server: ServerConfig, name: string): boolean =>
      view.item(server, 'tools', toolCalled(name)) !== undefined
    const found = ['old', 'new', 'gone', 'other'].map((name) => shown(git, name))
    assert.deepEqual(found, [true, true, false, false])
    const got = ['bare_tool', 'git__new'].map((name) => shown(bare, name))
    assert.deepEqual(got, [true, true])
  })
})

test('a view that is gone stays the same object, which sees nothing until it is back', () => {
  const views = new Views()
  const { profiles, schemas } = configured({ servers: ['git'] })
  const [git] = schemas.get('default')?.servers ?? []
  assert(git !== undefined)
  views.change(profiles, ['git'])
  const before = views.of('profile:p')
  views.change(new Map(), ['git'])
  assert.deepEqual([views.of('profile:p'), before?.hasServer(git)], [undefined, false])
  views.change(profiles, ['git'])
  assert.deepEqual([views.of('profile:p') === before, before?.hasServer(git)], [true, true])
})
