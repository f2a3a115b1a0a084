// Opens a configured server by its kind.

import { openHttp } from './http.js'
import { PerUserServer } from './per-user.js'
import { openSandbox } from './sandbox.js'
import type { Runtime } from '../../runtime/runtime.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { Server } from '../server/configured-server.js'
import type { ProxyContext } from '../server/context.js'
import { openStdio } from './stdio-server.js'
import { unavailableUpstream } from './unavailable.js'
import type { Upstream } from '../contracts/upstream.js'

export function openUpstream(config: ServerConfig, around: ProxyContext): Upstream {
  const { name: server, kind, unavailable: message } = config
  if (message === undefined) return openGuarded(config, around)
  // The log has the problem already, from the reader of the configuration.
  const process = { server, kind, pid: undefined, client: undefined, ms: 0 }
  around.news.server({ ...process, state: 'failed', reason: 'unavailable', message })
  return unavailableUpstream(config, message)
}

/** An exception in a timer of one server ends the connections of that server, not the proxy. */
function openGuarded(config: ServerConfig, around: ProxyContext): Upstream {
  const { runtime, log } = around
  const upstream = openKind(config, { ...around, runtime: guardedTimers(runtime, onFault) })
  return upstream

  function onFault(error: unknown): void {
    const message = 'internal error: its connections are opened anew'
    log({ level: 'error', service: config.name, message, details: { error } })
    upstream.renew('of an internal error')
  }
}

function guardedTimers(runtime: Runtime, onFault: (error: unknown) => void): Runtime {
  return {
    ...runtime,
    now: () => runtime.now(),
    wallNow: () => runtime.wallNow(),
    random: () => runtime.random(),
    spawn: (spec) => runtime.spawn(spec),
    memoryOf: (group) => runtime.memoryOf(group),
    setTimer: (delayMs, fire) =>
      runtime.setTimer(delayMs, () => {
        try {
          fire()
        } catch (error) {
          onFault(error)
        }
      }),
  }
}

function openKind(config: ServerConfig, around: ProxyContext): Server | PerUserServer {
  switch (config.kind) {
    case 'stdio':
      return openStdio(config, around)
    case 'http':
    case 'sse':
      return config.login?.isPerUser === true ? new PerUserServer(config, around) : openHttp(config, around)
    case 'sandbox':
      return openSandbox(config, around)
  }
}
