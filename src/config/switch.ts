// A variable that is on or off.

import type { Findings } from './problems.js'

/** What the text means; undefined after it was reported as neither. */
export function switchOf(variable: string, written: string, findings: Findings): boolean | undefined {
  const value = written.toLowerCase()
  if (['true', '1', 'yes', 'on'].includes(value)) return true
  if (['false', '0', 'no', 'off'].includes(value)) return false
  findings.problem(`$${variable}`, `is "${value}"`, 'must be true or false')
  return undefined
}
