// A gateway inside this process, and what its clients send.

import { createHash } from 'node:crypto'
import { resolveConfig } from '../../../src/config/config.js'
import type { Configuration } from '../../../src/config/configuration.js'
import { type Gateway, type GatewayOptions, openGateway } from '../../../src/gateway/gateway.js'
import { type Answer, message, send } from '../../transports/support/http.js'
import { claim } from './claim.js'
import { asRead, root } from './programs.js'
import type { Scope } from './spawned.js'

type Json = Readonly<Record<string, unknown>>
type Fields = Readonly<Record<string, string>>

/** A configuration on a free port, unless it names one. */
export function gatewayConfig(value: Json): Configuration {
  const whole = asRead({ ...value, server: { port: 0, ...Object(value['server']) } })
  return resolveConfig(whole, { source: 'test', folder: root, env: process.env })
}

/** A gateway with this configuration; it is closed after the test. */
export async function gatewayOf(scope: Scope, config: Json, options: GatewayOptions = {}): Promise<Gateway> {
  const gateway = await openGateway(gatewayConfig(config), options)
  scope.after(() => gateway.close(0))
  return gateway
}

/** The entry of a token in `server.tokens`. */
export function tokenOf(name: string, token: string, more: Json = {}): Json {
  return { name, sha256: createHash('sha256').update(token).digest('hex'), ...more }
}

export const bearer = (token: string): { readonly authorization: string } => ({
  authorization: `Bearer ${token}`,
})

/** The header fields that repeat a request of 2026-07-28. */
export function requestFields(method: string, params: Json = {}): Record<string, string> {
  const name = params['name'] ?? params['uri']
  return {
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
}

export interface StatelessRequest {
  readonly method: string
  readonly params?: Json
  readonly path?: string
  /** Beside those that repeat the request, or in their place. */
  readonly headers?: Fields
}

/** Sends a request of 2026-07-28 whose client can be asked nothing, unless its `_meta` says more. */
export function sendStateless(
  port: number,
  { method, params = {}, path = '/mcp', headers = {} }: StatelessRequest,
): Promise<Answer> {
  const body = message(method, 7, { _meta: claim(), ...params })
  return send(port, { path, body, headers: { ...requestFields(method, params), ...headers } })
}
