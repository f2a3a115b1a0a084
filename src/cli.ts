#!/usr/bin/env node
// The command: argv in, exit code out. The mode `stdio`, whose clients wait, is always loaded; the others are loaded when asked for.

import { basename } from 'node:path'
import process from 'node:process'
import { parseArguments } from './cli/args.js'
import type { Command } from './cli/args.js'
import type { Reply } from './cli/reply.js'
import { runStdio } from './cli/run-stdio.js'

const argv = process.argv.slice(2)

/** The package installs one program under two names. */
const program = basename(process.argv[1] ?? '', '.js') === 'mcp-all-in-one' ? 'mcp-all-in-one' : 'mcps-proxy'

async function run(command: Command): Promise<number> {
  switch (command.kind) {
    case 'stdio':
      return runStdio(command, { program, argv })
    case 'http':
      return (await import('./cli/run-http.js')).runHttp(command, { program, argv })
    case 'replay':
      return (await import('./replay/command.js')).replayCommand(command)
    case 'sandbox':
      return (await import('./cli/run-sandbox.js')).runSandbox(command, { program, argv })
    case 'check':
      return (await import('./cli/check.js')).runCheck(command)
    case 'doctor':
      return (await import('./cli/doctor.js')).runDoctor(command)
    case 'edit':
      return (await import('./cli/edit.js')).runEdit(command)
    case 'login':
      return (await import('./cli/login.js')).runLogin(command)
    case 'lock':
      return (await import('./cli/lock.js')).runLock(command)
    case 'secret':
      return (await import('./cli/secret.js')).runSecret(command)
    case 'import':
      return (await import('./cli/import.js')).runImport(command)
    case 'token':
      return (await import('./cli/token.js')).runToken(command)
    case 'ask':
      return (await import('./cli/ask.js')).runAsk(command)
    case 'status':
      return (await import('./cli/status.js')).runStatus(command)
    case 'help':
    case 'version':
    case 'usage':
      return print((await import('./cli/reply.js')).replyTo(command, program))
  }
}

async function print({ stream, text, exitCode }: Reply): Promise<number> {
  const { say } = await import('./cli/say.js')
  await say(stream, text)
  return exitCode
}

async function main(): Promise<number> {
  try {
    // Processes that a proxy leaves behind; no part of the command line for people.
    if (argv[0] === 'log-in') return await (await import('./cli/run-log-in.js')).runLogIn()
    if (argv[0] === 'warm-up') return await (await import('./cli/run-warm-up.js')).runWarmUp(argv.slice(1))
    return await run(parseArguments(argv))
  } catch (error) {
    const { replyToFailure } = await import('./cli/reply.js')
    return print(replyToFailure(error, program))
  }
}

// Everything that was to be written is written by now; what still keeps the
// process alive (an open stdin) has nobody to serve.
process.exit(await main())
