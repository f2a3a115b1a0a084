// The kinds of servers that there are.

import { openHttp } from './http.js'
import { PerUserServer } from './per-user.js'
import { openSandbox } from './sandbox.js'
import type { ServerConfig } from '../contracts/server-config.js'
import type { ProxyContext } from '../server/context.js'
import { openStdio } from './stdio.js'
import { unavailableUpstream } from './unavailable.js'
import type { Upstream } from '../contracts/upstream.js'

/** Opens a configured server. */
export function openUpstream(config: ServerConfig, around: ProxyContext): Upstream {
  const { name: server, kind, unavailable: message } = config
  if (message === undefined) return openKind(config, around)
  // The configuration has warned of what it found itself.
  const process = { server, kind, pid: undefined, client: undefined, ms: 0 }
  around.news.server({ ...process, state: 'failed', reason: 'unavailable', message })
  return unavailableUpstream(config, message)
}

function openKind(config: ServerConfig, around: ProxyContext): Upstream {
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
