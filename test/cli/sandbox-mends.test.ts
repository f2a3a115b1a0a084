// What `doctor` says of a server behind walls that was refused something.

import assert from 'node:assert/strict'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { sandboxMends } from '../../src/cli/sandbox-mends.js'
import { scratch } from '../integration/support/spawned.js'

test('the mend of a missing path names what lets the server start', (t) => {
  const top = scratch(t)
  const [home, cwd, own] = [join(top, 'home'), join(top, 'cwd'), join(top, 'own')]
  for (const folder of [join(cwd, 'srv'), join(own, 'node_modules')]) mkdirSync(folder, { recursive: true })
  for (const file of [join(cwd, 'srv/net.mjs'), join(own, 'package.json')]) writeFileSync(file, '')
  const cases: [title: string, line: string, read: string[], want: string | undefined][] = [
    ['a file', missing('/srv/net.mjs'), [], 'use /srv/net.mjs, add the path to "read" or "write"'],
    [
      'an installed package',
      missing('/a/node_modules/b/node_modules/@c/d/e.js'),
      [],
      'add /a/node_modules to "read"',
    ],
    [
      'what an installed package imports',
      "Cannot find package 'base64-js' imported from /a/node_modules/b/c.js",
      ['/a/node_modules/b'],
      'add /a/node_modules to "read"',
    ],
    ['a package with its dependencies inside', missing(join(own, 'dist/e.js')), [], `add ${own} to "read"`],
    [
      'a relative path',
      missing(join(home, 'srv/net.mjs')),
      [join(cwd, 'srv')],
      `${cwd} cannot be read in the sandbox, so relative paths begin in its home folder: write ${join(cwd, 'srv/net.mjs')}, also in "read" of its "filesystem", or add the working folder to "read"`,
    ],
    [
      'a file that is no code',
      `EROFS: read-only file system, open '${join(own, 'log')}'`,
      [],
      `use ${join(own, 'log')}, add the path to "read" or "write"`,
    ],
    ['a file of the home', missing(join(home, 'other')), [], `use ${join(home, 'other')}, add the path`],
    ['nothing', 'Error: no reason', [], undefined],
  ]
  for (const [title, line, read, want] of cases) {
    const mends = sandboxMends({ cwd }, { home, read, write: [], network: 'none' }, [line], [])
    assert.equal(mends.length, want === undefined ? 0 : 1, title)
    assert(mends[0]?.includes(want ?? '') ?? true, `${title}: ${mends[0]}`)
  }
  const sandbox = { home, read: [], write: [], network: 'none' } as const
  const [mend = ''] = sandboxMends({ cwd: top }, sandbox, [missing(join(home, 'own'))], [])
  assert.match(mend, /cannot be read in the sandbox/)
  assert.doesNotMatch(mend, /add the working folder/, 'which has the homes of other servers')
})

function missing(path: string): string {
  return `Error: Cannot find module '${path}'`
}
