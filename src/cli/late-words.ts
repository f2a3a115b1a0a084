// Sentences about servers that several commands print.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { longestStartMs } from '../proxy/trial.js'
import { inShell } from '../text/escape.js'

/** The wait of a server that was never installed is long, and its warnings often say that it will never answer. */
export function lateWords(label: string, server: ServerConfig, ms: number, warning?: string): string {
  const why = warning === undefined ? '' : `; ${warning}`
  return `${label} is not ready after ${inSeconds(ms)}, and may take ${inSeconds(longestStartMs(server))} (startTimeout)${why}`
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

/** The state of a server that was disabled on purpose, and the command that changes it. */
export function disabledHint(server: string, schema: string): string {
  const where = schema === 'default' ? '' : ` --schema ${inShell(schema)}`
  return `disabled; mcps-proxy enable ${inShell(server)}${where} lets it start again`
}
