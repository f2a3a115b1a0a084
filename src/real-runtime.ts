// The real world: its clock, its dice and its processes.

import { Guardian, startGuardianShell } from './upstream/process/guardian.js'
import { ProcessTree, isGroupEmpty } from './upstream/process/process-tree.js'
import type { LogSink, Runtime, Timer } from './runtime/runtime.js'
import { spawnChild } from './upstream/process/spawn.js'

/** A longer delay would fire immediately. */
const DELAY_MAX_MS = 2 ** 31 - 1

/** A runtime that has something to give back. */
export interface RealRuntime extends Runtime {
  /** Ends the guardian of the processes that were started here; processes that still run end with it. */
  close(): Promise<void>
}

/**
 * Makes a real runtime. The caller owns it, and closes it when its processes are stopped.
 *
 * On a system with `/bin/sh`, the process groups of its children end with this process in every case.
 */
export function realRuntime(log: LogSink = () => undefined): RealRuntime {
  const guardian = new Guardian(
    { now, random, setTimer: setIdleTimer },
    log,
    () => startGuardianShell(process.env),
    isGroupEmpty,
  )
  const tree = new ProcessTree(now)
  return {
    now,
    wallNow: () => Date.now(),
    setTimer: (delayMs, fire) => timerOf(startTimer(delayMs, fire)),
    random,
    spawn: (spec) => spawnChild(spec, guardian, tree),
    memoryOf: (group) => tree.memoryOf(group),
    env: process.env,
    close: () => guardian.close(),
  }
}

/** The clock of `performance.now()`, which would load all of `node:perf_hooks` at the start. */
function now(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1000 + nanoseconds / 1e6
}

function startTimer(delayMs: number, fire: () => void): NodeJS.Timeout {
  return setTimeout(fire, Math.min(delayMs, DELAY_MAX_MS))
}

/** A timer that does not keep the process alive. */
function setIdleTimer(delayMs: number, fire: () => void): Timer {
  return timerOf(startTimer(delayMs, fire).unref())
}

function random(): number {
  return Math.random()
}

function timerOf(timeout: NodeJS.Timeout): Timer {
  return { cancel: () => clearTimeout(timeout) }
}
