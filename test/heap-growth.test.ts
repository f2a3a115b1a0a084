// The program lets large messages and short sessions pass without collecting its whole heap for them.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const MIB = 1024 * 1024

const programs = fileURLToPath(new URL('../../test/programs', import.meta.url))
const heapGrowth = new URL('../src/cli/heap-growth.js', import.meta.url).href

function collections(...args: readonly string[]): Promise<number> {
  return measured('large-buffers.mjs', 'collections', ...args)
}

async function measured(program: string, figure: string, ...args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [`${programs}/${program}`, ...args])
  return Number(new RegExp(`"${figure}":(\\d+)`).exec(stdout)?.[1])
}

test('a heap that may grow is collected less than half as often', async () => {
  const [usual, grown] = [await collections(), await collections(heapGrowth)]
  assert.ok(grown * 2 <= usual, `${grown} full collections, ${usual} without`)
})

test('what is gone at once is not made in the old generation, whatever lived long before', async () => {
  const grownBytes = await measured('brief-objects.mjs', 'grownBytes', heapGrowth)
  assert.ok(grownBytes < 32 * MIB, `the old generation grew by ${grownBytes} bytes`)
})
