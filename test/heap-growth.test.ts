// The program lets large messages pass without collecting its whole heap for them.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const program = fileURLToPath(new URL('../../test/programs/large-buffers.mjs', import.meta.url))
const heapGrowth = new URL('../src/cli/heap-growth.js', import.meta.url).href

async function collections(...args: readonly string[]): Promise<number> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args])
  return Number(/"collections":(\d+)/.exec(stdout)?.[1])
}

test('a heap that may grow is collected less than half as often', async () => {
  const [usual, grown] = [await collections(), await collections(heapGrowth)]
  assert.ok(grown * 2 <= usual, `${grown} full collections, ${usual} without`)
})
