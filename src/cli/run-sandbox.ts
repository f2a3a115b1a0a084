// The command `sandbox`: one sandbox, on HTTP or on stdin and stdout, or what is said of its runtimes.

import { selectSchema } from '../config/config.js'
import { escapeText } from '../log/log.js'
import { realRuntime } from '../real-runtime.js'
import type { SandboxCommand } from './args.js'
import { type Invocation, type Run, type ServeOptions, runPlan } from './run.js'
import { sandboxPlan } from './sandbox-config.js'
import { say } from './say.js'
import type { SandboxServerConfig } from '../upstream/contracts/server-config.js'

/**
 * Serves until a signal comes, or the client leaves.
 *
 * @returns the exit code; 1 when nothing can run the code
 * @throws ConfigError when the configuration cannot be used
 */
export async function runSandbox(command: SandboxCommand, invocation: Invocation): Promise<number> {
  const { config, server } = sandboxPlan(command, invocation.program)
  if (command.check) return checkRuntimes(server)
  const { serve } = command
  const own = { ...invocation, config, read: readerOf(command, invocation), schemasOf: () => ['default'] }
  switch (serve.kind) {
    case 'stdio':
      return runPlan({ ...own, command: serve }, nothing, (run) =>
        withService(run, server, async (ready) => {
          const { serveStdio } = await import('./serve-stdio.js')
          return serveStdio(ready, selectSchema(config, 'default'))
        }),
      )
    case 'http':
      return runPlan({ ...own, command: serve }, nothing, (run) =>
        withService(run, server, async (ready) => {
          const { serveHttp } = await import('./serve-http.js')
          return serveHttp(ready)
        }),
      )
  }
}

/** Of the file that is named; what the command line says is not read again. */
function readerOf(command: SandboxCommand, { program }: Invocation): Run['read'] {
  if (command.serve.config === undefined) return undefined
  return () => sandboxPlan(command, program).config
}

async function nothing(): Promise<void> {}

/** Nobody is served before the service is there, and none outlives who is served. */
async function withService<C extends ServeOptions>(
  run: Run<C>,
  { name, sandbox }: SandboxServerConfig,
  serve: (run: Run<C>) => Promise<number>,
): Promise<number> {
  const { preparedService } = await import('../sandbox/readiness.js')
  const { runtime, log = () => undefined } = run.options
  const service = await preparedService(sandbox, { name, runtime, log })
  if (typeof service === 'string') {
    await say('stderr', `${run.program}: ${inLines(service)}\n`)
    return 1
  }
  try {
    return await serve({ ...run, options: { ...run.options, services: new Map([[name, service]]) } })
  } finally {
    await service.close()
  }
}

async function checkRuntimes({ name, sandbox }: SandboxServerConfig): Promise<number> {
  const { runtimeReport } = await import('../sandbox/readiness.js')
  const runtime = realRuntime()
  try {
    const { text, isUsable } = await runtimeReport(sandbox, { name, runtime, log: () => undefined })
    await say('stdout', inLines(text))
    return isUsable ? 0 : 1
  } finally {
    await runtime.close()
  }
}

function inLines(text: string): string {
  return text.split('\n').map(escapeText).join('\n')
}
