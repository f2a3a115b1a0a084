// Keys that are known elsewhere in the file: where they belong, as hints for `reportUnknownKeys`.

import { frontFields } from './fields.js'

/** Files of other programs have these for themselves. */
const ambiguous = new Set(['name', 'version'])

/** Of the top level: what belongs into the block `server`. */
export const frontKeyHints: ReadonlyMap<string, string> = hintsFor(
  Object.keys(frontFields).filter((key) => !ambiguous.has(key)),
  (key) => `write "server": { "${key}": … }`,
)

/** Of the block `server`, and of one server: what is for the whole file. */
export const wholeFileKeyHints: ReadonlyMap<string, string> = hintsFor(
  ['mcpServers', 'schemas', 'profiles', 'limits', 'audit', 'logging', 'inputs', 'processesMax'],
  () => 'it belongs at the top level of the file',
)

/** Of a profile. */
export const profileKeyHints: ReadonlyMap<string, string> = new Map([
  ...hintsFor(['allow', 'deny'], (key) => `write "tools": { "${key}": […] }`),
  ...hintsFor(['rename', 'set'], (key) => `write "tools": { "${key}": { … } }`),
])

function hintsFor(keys: readonly string[], hint: (key: string) => string): ReadonlyMap<string, string> {
  return new Map(keys.map((key) => [key, hint(key)]))
}
