// The engine collects the heap less for large messages and short sessions, and compiles sooner what they run.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const MIB = 1024 * 1024

const programs = fileURLToPath(new URL('../../test/programs', import.meta.url))
const engine = new URL('../src/cli/engine.js', import.meta.url).href

const version = Number.parseInt(process.versions.v8, 10)
/** The engine of Node.js 24 takes no heed of it. */
const growsAsItWants = version >= 13
/** Engines from Node.js 22 on compile in two steps. */
const hasMiddleTier = version >= 12

function collections(...args: readonly string[]): Promise<number> {
  return measured('large-buffers.mjs', 'collections', ...args)
}

async function measured(program: string, figure: string, ...args: readonly string[]): Promise<number> {
  const { stdout, stderr } = await promisify(execFile)(process.execPath, [
    '--allow-natives-syntax',
    `${programs}/${program}`,
    ...args,
  ])
  // An engine says so where it does not know a setting.
  assert.equal(stderr, '')
  return Number(new RegExp(`"${figure}":(\\d+)`).exec(stdout)?.[1])
}

test('a heap that may grow is collected less than half as often', { skip: growsAsItWants }, async () => {
  const [usual, grown] = [await collections(), await collections(engine)]
  assert.ok(grown * 2 <= usual, `${grown} full collections, ${usual} without`)
})

test('what is gone at once is not made in the old generation, whatever lived long before', async () => {
  const grownBytes = await measured('brief-objects.mjs', 'grownBytes', engine)
  assert.ok(grownBytes < 32 * MIB, `the old generation grew by ${grownBytes} bytes`)
})

test('a function is compiled after half as many calls, or fewer', { skip: hasMiddleTier }, async () => {
  const usual = await measured('hot-code.mjs', 'calls')
  const soon = await measured('hot-code.mjs', 'calls', engine)
  assert.ok(soon * 2 <= usual, `after ${soon} calls, ${usual} without`)
})
