#!/usr/bin/env node
// The command: argv in, exit code out.

import { basename } from 'node:path'
import process from 'node:process'
import { readArguments } from './cli/commands.js'
import { say } from './cli/console.js'

const argv = process.argv.slice(2)

/** The package installs one program under two names. */
const program = basename(process.argv[1] ?? '', '.js') === 'mcp-all-in-one' ? 'mcp-all-in-one' : 'mcps-proxy'

async function run(): Promise<number> {
  // A proxy starts `log-in` and `warm-up` as processes that outlive it. People do not use these two commands.
  if (argv[0] === 'log-in') return (await import('./cli/run-log-in.js')).runLogIn()
  if (argv[0] === 'warm-up') return (await import('./cli/run-warm-up.js')).runWarmUp(argv.slice(1))
  const asked = await readArguments(argv)
  switch (asked.kind) {
    case 'task':
      return asked.command.run(asked.given, { program, argv, isNamed: asked.isNamed })
    case 'help':
      await say('stdout', await (await import('./cli/help.js')).helpText(program, asked.about))
      return 0
    case 'version':
      await say('stdout', (await import('./cli/help.js')).versionText)
      return 0
  }
}

async function main(): Promise<number> {
  try {
    return await run()
  } catch (error) {
    const { replyToFailure } = await import('./cli/reply.js')
    const { text, exitCode } = await replyToFailure(error, program)
    await say('stderr', text)
    return exitCode
  }
}

// All output is written. An open stdin must not keep the process alive.
process.exit(await main())
