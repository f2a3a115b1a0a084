// A gateway inside this process.

import { resolveConfig } from '../../../src/config/config.js'
import { type Gateway, type GatewayOptions, openGateway } from '../../../src/gateway/gateway.js'
import { root } from './programs.js'
import type { Scope } from './spawned.js'

/** A gateway with this configuration, on a free port unless it names one; it is closed after the test. */
export async function gatewayOf(
  scope: Scope,
  config: Readonly<Record<string, unknown>>,
  options: GatewayOptions = {},
): Promise<Gateway> {
  const value = { ...config, server: { port: 0, ...Object(config['server']) } }
  const context = { source: 'test', folder: root, env: process.env }
  const gateway = await openGateway(resolveConfig(value, context), options)
  scope.after(() => gateway.close(0))
  return gateway
}
