// Whether a server keeps its processes when the configuration changes.

import { shownOnly } from '../kept/identity.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'

const shown: ReadonlySet<string> = new Set(shownOnly)

/** Whether both mean the same process or session, however its tools are shown. */
export function isSameServer(one: ServerConfig, other: ServerConfig): boolean {
  return isSame(withoutShown(one), withoutShown(other))
}

function withoutShown(config: ServerConfig): Readonly<Record<string, unknown>> {
  return Object.fromEntries(Object.entries(config).filter(([key]) => !shown.has(key)))
}

/** Plain values, lists and objects; the order of an object's keys means nothing. */
function isSame(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false
  if (Array.isArray(one) !== Array.isArray(other)) return false
  const ones = new Map(Object.entries(one))
  const others = new Map(Object.entries(other))
  return (
    ones.size === others.size &&
    [...ones].every(([key, value]) => others.has(key) && isSame(value, others.get(key)))
  )
}
