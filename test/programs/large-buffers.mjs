// Passes many large buffers through a small heap, and says how often the whole heap was collected.
//
//   node large-buffers.mjs [engine.js]

import { PerformanceObserver, constants } from 'node:perf_hooks'
import { setImmediate as turn } from 'node:timers/promises'

const [, , engine] = process.argv
if (engine !== undefined) {
  const { tuneEngineSoon } = await import(engine)
  tuneEngineSoon({ setTimer: (_delayMs, fire) => fire() })
}
let collections = 0
new PerformanceObserver((list) => {
  for (const { detail } of list.getEntries())
    if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) collections++
}).observe({ entryTypes: ['gc'] })

const lives = Array.from({ length: 90_000 }, (_, i) => ({ i, text: `${i}` }))
const inFlight = []
for (let n = 0; n < 3000; n++) {
  inFlight.push(Array.from({ length: 16 }, () => Buffer.allocUnsafeSlow(64 * 1024)))
  if (inFlight.length > 4) inFlight.shift()
  await turn()
}
await turn()
console.log(JSON.stringify({ collections, lives: lives.length }))
