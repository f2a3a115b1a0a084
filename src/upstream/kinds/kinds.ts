// The kinds of servers that there are.

import { open as openHttp } from './http.js'
import type { ServerConfig } from '../contracts/server-config.js'
import { type StdioSurroundings, open as openStdio } from './stdio.js'
import type { Upstream } from '../contracts/upstream.js'

/** Opens a configured server. */
export function openUpstream(config: ServerConfig, around: StdioSurroundings): Upstream {
  return config.kind === 'stdio' ? openStdio(config, around) : openHttp(config, around)
}
