// Whether an earlier run has kept what servers listed.

import { readdirSync } from 'node:fs'
import { type Environment, keptFolder } from '../config/config.js'

/** Looks only whether there is any file: which server it is of is found out later. */
export function keptBefore(env: Environment): boolean {
  try {
    return readdirSync(keptFolder(env)).some((name) => name.endsWith('.kept'))
  } catch {
    return false
  }
}
