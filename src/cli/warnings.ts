// The warnings of a configuration, as log lines.

import type { Configuration } from '../config/config.js'
import { memberPath } from '../config/problems.js'
import type { Logger } from '../log/log.js'

/** Warnings about schemas that are not served would only be noise here; `--check` tells them. */
export function tellWarnings(
  logger: Logger,
  warnings: Configuration['warnings'],
  schemas: readonly string[],
): void {
  for (const { path, message } of warnings) {
    if (!schemas.some((schema) => concerns(path, schema))) continue
    logger.sink({ level: 'warn', message: `configuration: ${path}${path === '' ? '' : ' '}${message}` })
  }
}

function concerns(path: string, schema: string): boolean {
  const own = memberPath('schemas', schema)
  return (
    !path.startsWith('schemas') || path === own || path.startsWith(`${own}.`) || path.startsWith(`${own}[`)
  )
}
