// The real runtime: the clock, the random numbers and the processes of this machine.

import { Guardian, startGuardianShell } from './upstream/process/guardian.js'
import { ProcessTree, isGroupEmpty } from './upstream/process/process-tree.js'
import { realClock } from './runtime/deadline.js'
import type { LogSink, Runtime, Timer } from './runtime/runtime.js'
import { spawnChild } from './upstream/process/spawn.js'

/** A runtime whose owner must close it. */
export interface RealRuntime extends Runtime {
  /** Ends the guardian process. Processes of this runtime that still run end with it. */
  close(): Promise<void>
}

/**
 * Makes a real runtime. The caller owns it, and closes it when its processes are stopped.
 *
 * On a system with `/bin/sh`, the process groups of its children end when this process ends, in every case.
 */
export function realRuntime(log: LogSink = () => undefined): RealRuntime {
  const guardian = new Guardian(
    { now: realClock.now, random, setTimer: setIdleTimer },
    log,
    () => startGuardianShell(process.env),
    isGroupEmpty,
  )
  const tree = new ProcessTree(realClock.now)
  return {
    ...realClock,
    wallNow: () => Date.now(),
    random,
    spawn: (spec) => spawnChild(spec, guardian, tree),
    memoryOf: (group) => tree.memoryOf(group),
    env: process.env,
    close: () => guardian.close(),
  }
}

/** A timer that does not keep the process alive. */
function setIdleTimer(delayMs: number, fire: () => void): Timer {
  const timeout = setTimeout(fire, delayMs).unref()
  return { cancel: () => clearTimeout(timeout) }
}

function random(): number {
  return Math.random()
}
