// Objects of a file that have names of the person's choice: schemas, servers, profiles, templates.

import type { NameRule } from './kinds.js'
import { Section } from './section.js'
import { memberPath } from '../text/member-path.js'

/** Names that stand in addresses and in calls of clients. */
export const plainNames: NameRule = {
  pattern: '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}$',
  hint: 'use letters, digits, "_", "-" and "."',
}

/** Any text that can be shown on one line. */
export const namesOnOneLine: NameRule = {
  pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$',
  hint: 'use a name without control characters',
}

/** The server's own names of its tools, or those that clients see. */
export const toolNames: NameRule = { pattern: '^[^\\u0000]+$', hint: 'use the name of a tool' }

export const variableNames: NameRule = {
  pattern: '^[^=\\u0000]+$',
  hint: 'use the name of an environment variable',
}

/** Reads each object under a key, which may be absent; those that are no objects are reported and left out. */
export function readNamed<T>(
  owner: Section,
  key: string,
  { pattern, hint }: NameRule,
  read: (name: string, section: Section) => T,
): Map<string, T> {
  const { findings } = owner
  const matches = new RegExp(pattern, 'u')
  const all = new Map<string, T>()
  // Names that differ only in case are two names, but rarely meant to be.
  const seen = new Map<string, string>()
  for (const [name, value] of owner.has(key) ? owner.entries(key) : []) {
    const path = memberPath(owner.pathOf(key), name)
    if (!matches.test(name)) findings.problem(path, 'has a name that cannot be used', hint)
    const twin = seen.get(name.toLowerCase())
    if (twin !== undefined) findings.warn(path, `differs from "${twin}" only in case`)
    else seen.set(name.toLowerCase(), name)
    const section = Section.of(value, path, findings)
    if (section !== undefined) all.set(name, read(name, section))
  }
  return all
}
