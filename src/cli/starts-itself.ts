// Whether a server of a configuration is this program with the same configuration: it would start itself without end.

import { resolve } from 'node:path'
import process from 'node:process'
import type { Environment } from '../config/configuration.js'
import { homeOf, usualConfigFile } from '../config/file.js'
import { fromHome, realPath } from '../config/paths.js'
import { UsageError, readTask } from './command-line.js'
import { commandIn } from './command-names.js'
import { httpCommand } from './run-http.js'
import { stdioCommand } from './run-stdio.js'
import { isObject } from '../text/json-object.js'
import { ownArguments } from './clients/launch.js'

/** The folder and the environment in which it starts; the variables of the entry stand above these. */
interface Surroundings {
  readonly cwd: string
  readonly env: Environment
}

/** `entry` is the server as a file has it, and `schema` the one of the configuration `path` that has it. */
export function startsItself(
  entry: object,
  { cwd, env }: Surroundings,
  path: string,
  schema: string,
): boolean {
  const command = servedBy(ownArguments(entry, process.argv[1]))
  if (command === undefined) return false
  if (command.kind === 'stdio' && (command.schema !== schema || command.profile !== undefined)) return false
  const own = 'env' in entry && isObject(entry.env) ? entry.env['MCPS_PROXY_CONFIG'] : undefined
  const named = command.config ?? own
  const file = typeof named === 'string' ? resolve(cwd, fromHome(named, homeOf(env))) : usualConfigFile(env)
  return realPath(file) === realPath(path)
}

/** Undefined where these arguments serve no configuration. */
function servedBy(
  args: readonly string[] | undefined,
): ReturnType<typeof stdioCommand.read | typeof httpCommand.read> | undefined {
  const named = args && commandIn(args)
  try {
    if (named?.name === 'stdio') return readTask(stdioCommand, named.argv)
    return named?.name === 'http' ? readTask(httpCommand, named.argv) : undefined
  } catch (error) {
    if (error instanceof UsageError) return undefined
    throw error
  }
}
