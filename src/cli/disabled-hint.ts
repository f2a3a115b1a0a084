// A disabled server is no failure, but an answer to one who asks for it.

import { inShell } from '../text/escape.js'

/** The state of the server, and the command that changes it. */
export function disabledHint(server: string, schema: string): string {
  const where = schema === 'default' ? '' : ` --schema ${inShell(schema)}`
  return `disabled; mcps-proxy enable ${inShell(server)}${where} lets it start again`
}
