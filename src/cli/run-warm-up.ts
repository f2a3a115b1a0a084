// The detached process of a warm-up. One that waits loads nothing else.

import { isSuccessor, SUCCESSOR } from '../upstream/process/detached.js'

/** The guardian ends servers within this time of the end of a proxy. */
const GUARDIAN_MS = 1500

/** The arguments are the configuration (empty for the built-in search), the schema, and the process and the server of each install. */
export async function runWarmUp([path = '', name = '', ...installs]: readonly string[]): Promise<number> {
  const hasWaited = installs[0] === SUCCESSOR
  if (hasWaited) {
    if (!(await isSuccessor())) return 0
    await new Promise((resolve) => setTimeout(resolve, GUARDIAN_MS))
  }
  const { learnLists } = await import('./learn-lists.js')
  return learnLists(path, name, new Map(hasWaited ? [] : pairsOf(installs)))
}

function pairsOf([pid, name, ...others]: readonly string[]): [number, string][] {
  return pid === undefined || name === undefined ? [] : [[Number(pid), name], ...pairsOf(others)]
}
