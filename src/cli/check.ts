// `--check`: reads a configuration as a start would, starts nothing, and tells everything it found.

import { ConfigError, loadConfig, selectSchema } from '../config.js'
import type { Configuration, Environment } from '../config.js'
import { escapeText } from '../log.js'
import type { CheckCommand } from './args.js'

export interface CheckResult {
  readonly text: string
  readonly exitCode: 0 | 1
}

export function checkConfig({ config: path, schema }: CheckCommand, env: Environment): CheckResult {
  try {
    const config = loadConfig({ path, env })
    if (schema !== undefined) selectSchema(config, schema)
    return { text: validText(config), exitCode: 0 }
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    const count = error.problems.length
    return { text: `${error.message}\n${count} ${count === 1 ? 'problem' : 'problems'}\n`, exitCode: 1 }
  }
}

function validText(config: Configuration): string {
  const servers = [...config.schemas.values()].flatMap((schema) => schema.servers)
  const warnings = config.warnings.map(({ path, message }) =>
    escapeText(`  warning: ${path}${path === '' ? '' : ' '}${message}`),
  )
  const summary = `valid: ${counted(config.schemas.size, 'schema')}, ${counted(servers.length, 'server')}, ${counted(warnings.length, 'warning')}`
  return `${[`${escapeText(config.source)}:`, ...warnings, `  ${summary}`].join('\n')}\n`
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
