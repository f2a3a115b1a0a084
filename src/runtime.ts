// The real world: its clock, its dice and its processes.

import type { Runtime } from './upstream/host.js'
import { spawnChild } from './upstream/spawn.js'

/** Longer delays than this would fire at once. */
const DELAY_MAX_MS = 2 ** 31 - 1

export const realRuntime: Runtime = {
  now: () => performance.now(),
  wallNow: () => Date.now(),
  setTimer: (delayMs, fire) => {
    const timer = setTimeout(fire, Math.min(delayMs, DELAY_MAX_MS))
    return { cancel: () => clearTimeout(timer) }
  },
  random: () => Math.random(),
  spawn: spawnChild,
  env: process.env,
}
