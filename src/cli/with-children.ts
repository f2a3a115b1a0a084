// The surroundings of every command that starts servers, asks them and ends.

import type { Configuration } from '../config/configuration.js'
import type { Runtime } from '../index.js'
import { noPaint } from '../log/lines.js'
import { type Logger, createLogger } from '../log/log.js'
import { realRuntime } from '../real-runtime.js'
import { Children } from './children.js'
import { Endings } from './endings.js'
import { addSecrets } from './run.js'

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
