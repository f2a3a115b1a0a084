// The detached process of a warm-up. One that waits loads nothing else.

import { isSuccessor, SUCCESSOR } from '../upstream/process/detached.js'

/** The guardian ends servers within this time of the end of a proxy. */
const GUARDIAN_MS = 1500

/** `args` are the configuration (empty for the built-in search), the schema, and the processes of the installs. */
export async function runWarmUp([path = '', name = '', ...pids]: readonly string[]): Promise<number> {
  const hasWaited = pids[0] === SUCCESSOR
  if (hasWaited) {
    if (!(await isSuccessor())) return 0
    await new Promise((resolve) => setTimeout(resolve, GUARDIAN_MS))
  }
  const { learnLists } = await import('./learn-lists.js')
  return learnLists(path, name, hasWaited ? [] : pids.map(Number))
}
