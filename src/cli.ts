#!/usr/bin/env node
// The command: argv in, exit code out. Every mode is loaded only when it is asked for.

import { basename } from 'node:path'
import process from 'node:process'
import { parseArguments } from './cli/args.js'
import type { Command } from './cli/args.js'
import type { Reply } from './cli/reply.js'

const argv = process.argv.slice(2)

/** The package installs one program under two names. */
const program = basename(process.argv[1] ?? '', '.js') === 'mcp-all-in-one' ? 'mcp-all-in-one' : 'mcps-proxy'

async function run(command: Command): Promise<number> {
  if (command.kind === 'stdio') {
    const { runStdio } = await import('./cli/run-stdio.js')
    return runStdio(command, { program, argv })
  }
  if (command.kind === 'http') {
    const { runHttp } = await import('./cli/run-http.js')
    return runHttp(command, { program, argv })
  }
  if (command.kind === 'replay') {
    const { replayCommand } = await import('./replay/command.js')
    return replayCommand(command)
  }
  if (command.kind === 'check') {
    const { runCheck } = await import('./cli/run-check.js')
    return runCheck(command)
  }
  const { replyTo } = await import('./cli/reply.js')
  return said(replyTo(command, program))
}

async function said(reply: Reply): Promise<number> {
  const { say } = await import('./cli/say.js')
  await say(reply.stream, reply.text)
  return reply.exitCode
}

async function main(): Promise<number> {
  try {
    return await run(parseArguments(argv))
  } catch (error) {
    const { replyToFailure } = await import('./cli/reply.js')
    return said(replyToFailure(error, program))
  }
}

// Everything that was to be written is written by now; what still keeps the
// process alive (an open stdin) has nobody to serve.
process.exit(await main())
