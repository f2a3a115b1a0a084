// The runtime with the real clock, random numbers and processes.

import { Guardian, startGuardianShell } from './upstream/process/guardian.js'
import { ProcessTree, isGroupEmpty } from './upstream/process/process-tree.js'
import { realClock } from './runtime/deadline.js'
import type { LogSink, Runtime, Timer } from './runtime/runtime.js'
import { spawnChild } from './upstream/process/spawn.js'

/** A runtime that its owner must close. */
export interface RealRuntime extends Runtime {
  /** Ends the guardian of the child processes. Children that still run end with the guardian. */
  close(): Promise<void>
}

/**
 * Makes a real runtime. The caller owns the runtime, and closes it when its child processes are stopped.
 *
 * On a system with `/bin/sh`, the process groups of the children end with this process in every case.
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
