// The stdio mode: one client, which started this process, and one schema.
//
// stdout belongs to the protocol, so everything said here goes to stderr. The
// order is chosen for the time until the first answer: for a client that will need
// them, the servers are started before the proxy is even loaded.

import { readdirSync } from 'node:fs'
import process from 'node:process'
import { keptFolder, loadConfig, marksOf, refuseLoop, selectSchema } from '../config/config.js'
import type { Configuration, Environment } from '../config/config.js'
import { headStart } from '../upstream/process/head-start.js'
import type { StdioCommand } from './args.js'
import { FirstWords } from './first-words.js'
import { type Invocation, runPlan } from './run.js'

/**
 * Serves until the client leaves, says `exit`, or a signal comes; everything is flushed and closed then.
 *
 * @returns the exit code.
 * @throws ConfigError when the configuration cannot be used.
 */
export async function runStdio(command: StdioCommand, invocation: Invocation): Promise<number> {
  const config = await configOf(command, invocation)
  const schema = selectSchema(config, command.schema)
  const isFile = command.remote === undefined
  // A process that starts none of its own starts no loop either.
  if (isFile) refuseLoop(config, [schema.name], process.env)
  const read = isFile
    ? (path: string | undefined) => fileConfig({ ...command, config: path }, invocation)
    : undefined
  const plan = { ...invocation, command, config, read, schemasOf: () => [schema.name] }
  const findCredentials = async (): Promise<void> => {
    // Without the credentials of the one remote server nothing is read from stdin.
    if (!isFile) await (await import('../proxy/remote.js')).checkCredentials(schema)
  }
  return runPlan(plan, findCredentials, async (run) => {
    const { env } = run.options.runtime
    // Servers whose lists are kept start behind the first answers, which would wait for the processor otherwise.
    const isKept = command.keepsLists && keptBefore(env)
    const marks = marksOf(config, schema.name, env)
    let { runtime } = run.options
    const words = new FirstWords(process.stdin, () => {
      runtime = headStart(isKept ? [] : schema.servers, run.options.runtime, marks)
    })
    await words.here()
    const { serveStdio } = await import('./serve-stdio.js')
    words.stop()
    return serveStdio({ ...run, options: { ...run.options, runtime } }, schema)
  })
}

/** One remote server is a configuration too. */
async function configOf(command: StdioCommand, invocation: Invocation): Promise<Configuration> {
  const { remote, timeoutMs } = command
  if (remote === undefined) return fileConfig(command, invocation)
  const { remoteConfig } = await import('../proxy/remote.js')
  return remoteConfig(remote, timeoutMs, invocation.program)
}

function fileConfig({ config: path, timeoutMs }: StdioCommand, { program }: Invocation): Configuration {
  return loadConfig({ path, timeoutMs, nameDefault: program, servesHttp: false })
}

/** Whether an earlier run has kept lists: which server a file is of is found out later. */
function keptBefore(env: Environment): boolean {
  try {
    return readdirSync(keptFolder(env)).some((name) => name.endsWith('.kept'))
  } catch {
    return false
  }
}
