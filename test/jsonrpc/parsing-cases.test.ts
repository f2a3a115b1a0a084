// The public JSON parsing cases: what everybody must accept (y_), must refuse
// (n_), and what implementations differ on (i_), where we do what a strict
// UTF-8 decoder and `JSON.parse` do. The cases are not part of the project.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { Scanner } from '../../src/jsonrpc/scan.js'

const folder = join(process.env['MCPS_SHARED'] ?? join(process.cwd(), '..', 'shared'), 'data', 'json-parsing')
const skip = existsSync(folder) ? false : `there are no parsing cases in ${folder}`

/** Beyond every case but the deliberate bombs, which are refused either way. */
const DEPTH_MAX = 1000

function scans(bytes: Buffer): boolean {
  try {
    const scanner = new Scanner(bytes, DEPTH_MAX)
    scanner.finish(scanner.value(scanner.skipSpace(0), 0))
    return true
  } catch (error) {
    if (error instanceof FrameError) return false
    throw error
  }
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}

function cases(kind: string): [name: string, bytes: Buffer][] {
  const names = readdirSync(folder).filter((name) => name.startsWith(kind) && name.endsWith('.json'))
  assert.ok(names.length > 0)
  return names.map((name) => [name, readFileSync(join(folder, name))])
}

test('what must be accepted is accepted', { skip }, () => {
  for (const [name, bytes] of cases('y_')) assert.equal(scans(bytes), true, name)
})

test('what must be refused is refused', { skip }, () => {
  for (const [name, bytes] of cases('n_')) assert.equal(scans(bytes), false, name)
})

test('what implementations differ on is decided as JSON.parse decides it', { skip }, () => {
  for (const [name, bytes] of cases('i_')) assert.equal(scans(bytes), parses(bytes), name)
})
