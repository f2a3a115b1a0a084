import { type RealRuntime, realRuntime } from '../../src/real-runtime.js'
import type { Scope } from './scope.js'

/** Closed after the test. */
export function openRuntime(scope: Scope, env: NodeJS.ProcessEnv = process.env): RealRuntime {
  const runtime = realRuntime()
  scope.after(() => runtime.close())
  return { ...runtime, env }
}
