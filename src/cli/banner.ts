// The banner on stderr of a serving mode.

import type { Configuration, SchemaConfig } from '../config/config.js'
import { escapeText } from '../log/log.js'
import type { Paint } from '../log/log.js'
import { counted } from './counted.js'

export interface BannerFacts {
  readonly name: string
  readonly version: string
  readonly config: Configuration
  readonly schema: SchemaConfig
  /** A person types the messages. */
  readonly isInteractive: boolean
}

export function stdioBanner(
  { name, version, config, schema, isInteractive }: BannerFacts,
  paint: Paint,
): string {
  return [
    paint('title', escapeText(`${name} ${version}`)),
    `  mode     stdio`,
    `  schema   ${escapeText(schemaLine(schema))}`,
    `  config   ${escapeText(config.source)}`,
    `${paint('info', 'JSON-RPC 2.0 ready')}: one message per line on stdin, answers on stdout${isInteractive ? ', Ctrl-D ends' : ''}`,
    `  try      {"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
    '',
  ].join('\n')
}

export interface HttpBannerFacts {
  readonly name: string
  readonly version: string
  readonly config: Configuration
  /** The address that is bound, and one that a client on this machine can use. */
  readonly host: string
  readonly origin: string
  readonly needsToken: boolean
}

export function httpBanner(
  { name, version, config, host, origin, needsToken }: HttpBannerFacts,
  paint: Paint,
): string {
  const enabled = [...config.schemas.values()].filter((schema) => schema.enabled)
  return [
    paint('title', escapeText(`${name} ${version}`)),
    `  mode     http${everyAddress.includes(host) ? ' on every address of this machine' : ''}${needsToken ? ', with a bearer token' : ''}`,
    ...enabled.map((schema) => `  schema   ${escapeText(`${schemaLine(schema)} at ${pathOf(schema)}`)}`),
    `  config   ${escapeText(config.source)}`,
    `${paint('info', 'JSON-RPC 2.0 ready')}: POST to ${origin}${pathOf(enabled[0])}, Ctrl-C ends`,
    `  status   ${origin}/api/status`,
    '',
  ].join('\n')
}

const everyAddress: readonly string[] = ['0.0.0.0', '::']

function pathOf(schema: SchemaConfig | undefined): string {
  if (schema === undefined) return ''
  return schema.name === 'default' ? '/mcp' : `/api/${encodeURIComponent(schema.name)}/mcp`
}

function schemaLine({ name, servers }: SchemaConfig): string {
  const enabled = servers.filter(({ disabled }) => !disabled).map((server) => server.name)
  return `${name} (${counted(enabled.length, 'server')}${enabled.length === 0 ? '' : `: ${namesShown(enabled)}`})`
}

const namesShownMax = 8

function namesShown(names: readonly string[]): string {
  const more = names.length - namesShownMax
  return `${names.slice(0, namesShownMax).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}
