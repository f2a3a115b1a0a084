// The detached process of a warm-up. While it waits, it loads nothing else.

import { isSuccessor } from '../upstream/process/detached.js'

/** The arguments are the path of the configuration (empty for the built-in search) and the schema. */
export async function runWarmUp([path = '', name = '']: readonly string[]): Promise<number> {
  return (await isSuccessor()) ? (await import('./learn-lists.js')).learnLists(path, name) : 0
}
