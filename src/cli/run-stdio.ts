// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr. The
// order is chosen for the time until the first answer: the servers are started
// before the proxy is even loaded.

import process from 'node:process'
import { loadConfig, marksOf, refuseLoop, selectSchema } from '../config/config.js'
import type { Configuration, SchemaConfig } from '../config/config.js'
import { headStart } from '../upstream/process/head-start.js'
import { realRuntime } from '../real-runtime.js'
import type { StdioCommand } from './args.js'
import { Children } from './children.js'
import { Endings } from './endings.js'
import { Feedback } from './feedback.js'
import { keptBefore } from './kept-before.js'
import { choosePaint, openLogger, openRecordIfAsked, openScreen, tellConfiguration } from './surroundings.js'
import type { Invocation } from './surroundings.js'

/**
 * Serves until the client leaves, says `exit`, or a signal comes; everything is flushed and closed then.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used.
 */
export async function runStdio(command: StdioCommand, invocation: Invocation): Promise<number> {
  const config = await configOf(command, invocation)
  const schema = selectSchema(config, command.schema)
  // A process that starts none of its own starts no loop either.
  if (command.remote === undefined) refuseLoop(config, [schema.name], process.env)
  const paint = await choosePaint()
  const screen = openScreen(command)
  const logger = openLogger(config, [schema.name], command, { paint, screen })
  await findCredentials(command, schema)
  tellConfiguration(logger, config, [schema.name])
  const children = new Children()
  const endings = new Endings(logger.sink, () => children.kill())
  endings.watch()
  const own = realRuntime(logger.sink)
  const feedback = new Feedback({ logger, screen, runtime: own })
  try {
    // It may be refused, and a refusal costs no process.
    const record = await openRecordIfAsked(command, invocation, logger)
    try {
      const marks = marksOf(config, schema.name, own.env)
      // Servers whose lists are kept start behind the first answers, which would wait for the processor otherwise.
      const isKept = command.keepsLists && keptBefore(own.env)
      const runtime = headStart(isKept ? [] : schema.servers, children.watch(own), marks)
      const { serveStdio } = await import('./serve-stdio.js')
      const { program } = invocation
      const run = { program, command, config, schema, paint, logger, screen, feedback, endings, runtime }
      return endings.verdict(await serveStdio(run, record?.tap))
    } finally {
      await record?.close()
    }
  } finally {
    feedback.close()
    children.kill()
    await own.close()
    await logger.close()
  }
}

/** One remote server is a configuration too. */
async function configOf(
  { config: path, timeoutMs, remote }: StdioCommand,
  { program }: Invocation,
): Promise<Configuration> {
  if (remote === undefined) return loadConfig({ path, timeoutMs, nameDefault: program })
  const { remoteConfig } = await import('../proxy/remote.js')
  return remoteConfig(remote, timeoutMs, program)
}

/** Without the credentials of the one remote server nothing is read from stdin. */
async function findCredentials({ remote }: StdioCommand, schema: SchemaConfig): Promise<void> {
  if (remote === undefined) return
  const { checkCredentials } = await import('../proxy/remote.js')
  await checkCredentials(schema)
}
