// A garbage collection on demand, without an option on the command line.

import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const gc: unknown = runInNewContext('gc')

export function collect(): void {
  if (typeof gc === 'function') gc()
}
