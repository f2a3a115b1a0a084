// The tests that SECURITY.md names exist, so that each of its rows is checked.

import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { root } from '../support/source-text.js'

const document = readFileSync(join(root, 'SECURITY.md'), 'utf8')

/** The rows of the table of attacks: the cells of each. */
const attacks = document
  .replace(/^[^]*\n## Attacks/, '')
  .split('\n')
  .filter((line) => line.startsWith('| '))
  .slice(1)
  .map((line) => line.slice(2, -2).split(' | '))

const paths = (text: string): string[] =>
  [...text.matchAll(/`((?:src|test)\/[^`]+)`/g)].map(([, path = '']) => path)

describe('SECURITY.md', () => {
  test('has a table of attacks', () => {
    assert.ok(attacks.length >= 20, `${attacks.length} rows`)
    const names = attacks.map(([name]) => name)
    assert.deepEqual(names, [...new Set(names)])
  })

  for (const [name = '', what = '', tests = ''] of attacks)
    test(`says what stands against it, and names a test: ${name}`, () => {
      assert.notEqual(what, '')
      const named = paths(tests)
      assert.ok(named.length > 0)
      for (const path of named) assert.match(path, /^test\/.+\.test\.ts$/)
    })

  test('names files that exist', () => {
    const missing = paths(document).filter((path) => !existsSync(join(root, path)))
    assert.deepEqual(missing, [])
  })

  test('is named by the README', () =>
    assert.match(readFileSync(join(root, 'README.md'), 'utf8'), /\(SECURITY\.md\)/))
})
