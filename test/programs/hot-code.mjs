// Calls a function until the engine has compiled it; says how often that was.
//
//   node --allow-natives-syntax hot-code.mjs [engine.js]

import { setTimeout as wait, setImmediate as turn } from 'node:timers/promises'
import { runInThisContext } from 'node:vm'

/** Of what the engine says about a function. */
const OPTIMIZED = 1 << 4
const CALLS_MAX = 20_000

const [, , engine] = process.argv
if (engine !== undefined) {
  const { tuneEngineSoon } = await import(engine)
  tuneEngineSoon({ setTimer: (_delayMs, fire) => fire() })
  await turn()
}

const sum = (bytes) => bytes.reduce((all, byte) => (all * 31 + byte) | 0, 0)
// Text for the engine alone: no parser of ours knows this syntax.
const status = runInThisContext('(code) => %GetOptimizationStatus(code)')

const bytes = new Uint8Array(100)
let calls = 0
while (calls < CALLS_MAX && (status(sum) & OPTIMIZED) === 0) {
  sum(bytes)
  calls++
  // It is compiled on another thread, which has time for it now.
  if (calls % 100 === 0) await wait(3)
}
console.log(JSON.stringify({ calls }))
