// What a command says while a server takes long to start.

import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { longestStartMs } from '../proxy/trial.js'

/** The wait of a server that was never installed is long, and its warnings often say that it will never answer. */
export function lateWords(label: string, server: ServerConfig, ms: number, warning?: string): string {
  const why = warning === undefined ? '' : `; ${warning}`
  return `${label} is not ready after ${inSeconds(ms)}, and may take ${inSeconds(longestStartMs(server))} (startTimeout)${why}`
}

function inSeconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}
