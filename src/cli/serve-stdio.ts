// One client on stdin and stdout, until it leaves or the process is ended.

import process from 'node:process'
import type { SchemaConfig } from '../config/configuration.js'
import { type EventSource, type ProxyEvents, createProxy, limits, stdio } from '../index.js'
import { viewKey } from '../proxy/routing/profile-view.js'
import { version } from '../version.js'
import type { StdioTask } from './run-stdio.js'
import { stdioBanner } from './banner.js'
import type { Run } from './run.js'
import { announce, serveUntil } from './serve-until.js'
import { WarmUp } from './warm-up.js'

/** Serves until the client leaves, says `exit`, or a signal comes; gives the exit code. Servers that `beforeServing` waits for start immediately. */
export async function serveStdio(
  run: Run<StdioTask>,
  schema: SchemaConfig,
  beforeServing?: (events: EventSource<ProxyEvents>) => Promise<void>,
): Promise<number> {
  const { command, config, screen, endings, children, options } = run
  const inspection =
    command.uiPort === undefined ? undefined : new (await import('./inspect.js')).Inspection(run)
  const proxy = await createProxy(config, {
    ...options,
    ...inspection?.options,
    schema: schema.name,
    ownStart: 'with-client',
    person: 'here',
    eager: beforeServing !== undefined,
  })
  run.telemetry?.watch(() => new Map([[schema.name, proxy]]))
  const isKept = options.keep === true && command.remote === undefined
  const warmUp = isKept ? new WarmUp(config, schema, children, options.runtime) : undefined
  warmUp?.watch(proxy)
  const session = await serveUntil(run, proxy, async () => {
    await beforeServing?.(proxy)
    await inspection?.open(new Map([[schema.name, proxy]]), proxy, undefined, command.uiPort)
    const writes = screen.isShown ? () => screen.makeWay() : undefined
    const attached = await proxy.attach(stdio({ ...limits.session.ndjson, writes }), {
      view: viewOf(command),
    })
    const facts = { name: config.server.name, version, config, schema }
    announce(run, stdioBanner({ ...facts, isInteractive: process.stdin.isTTY }))
    await Promise.race([attached.leaving, endings.ended])
    if (!endings.isFaulty) warmUp?.begin(proxy)
    return attached
  })
  await inspection?.close()
  return (await session.ended).exitCode
}

function viewOf({ profile }: StdioTask): string | undefined {
  return profile === undefined ? undefined : viewKey('profile', profile)
}
