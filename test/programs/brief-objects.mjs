// Makes objects that live long, and then many that are gone at once; says how far the old generation grew for those.
//
//   node brief-objects.mjs [engine.js]

import { setImmediate as turn } from 'node:timers/promises'
import { getHeapSpaceStatistics } from 'node:v8'

const [, , engine] = process.argv
if (engine !== undefined) {
  const { tuneEngineSoon } = await import(engine)
  tuneEngineSoon({ setTimer: (_delayMs, fire) => fire() })
  await turn()
}

const make = (n) => ({ calls: [], parts: [n, n, n, n], of: { n } })
const oldBytes = () =>
  getHeapSpaceStatistics().find((space) => space.space_name === 'old_space').space_used_size

const kept = []
for (let n = 0; n < 400_000; n++) kept.push(make(n))
kept.length = 0
await turn()

const latest = []
let grownBytes = 0
for (let round = 0; round < 40; round++) {
  const before = oldBytes()
  for (let n = 0; n < 20_000; n++) latest[n % 64] = make(n)
  grownBytes += Math.max(0, oldBytes() - before)
  await turn()
}
console.log(JSON.stringify({ grownBytes, latest: latest.length }))
