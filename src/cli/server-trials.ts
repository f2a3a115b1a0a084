// What every command shares that starts servers, asks them and ends.

import type { Configuration } from '../config/configuration.js'
import type { Runtime } from '../index.js'
import { noPaint } from '../log/lines.js'
import { type Logger, createLogger } from '../log/log.js'
import { realRuntime } from '../real-runtime.js'
import { Children } from './children.js'
import { Endings } from './endings.js'
import { addSecrets } from './run.js'
import type { ServerConfig } from '../upstream/contracts/server-config.js'
import { longestStartMs } from '../proxy/trial.js'
import { inShell } from '../text/escape.js'

/** The tools of a command while its servers run. */
export interface Attended {
  readonly runtime: Runtime
  /** Writes nothing; it knows the secrets of the schemas. */
  readonly logger: Logger
  readonly endings: Endings
}

/** Runs a command with servers of these schemas: none of its children outlives it, also after a second signal. */
export async function withChildren(
  config: Configuration,
  schemas: readonly string[],
  run: (attended: Attended) => Promise<number>,
): Promise<number> {
  const logger = createLogger({ level: 'error', console: undefined, paint: noPaint, file: undefined })
  addSecrets(logger, config, schemas)
  const children = new Children()
  const endings = new Endings(logger.sink, () => children.kill())
  const own = realRuntime(logger.sink)
  try {
    return await run({ runtime: children.watch(own), logger, endings })
  } finally {
    children.kill()
    await own.close()
    await logger.close()
  }
}

/** Servers that are tried at the same time, unless a command says otherwise. */
export const TRIALS_AT_ONCE_MAX = 4

/** Works through all items, so many at the same time, in their order. */
export async function eachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const workThrough = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, workThrough))
}

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
