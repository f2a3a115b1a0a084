// What a person sees on stderr when the stdio mode is ready.

import type { Configuration, SchemaConfig } from '../config.js'
import { escapeText } from '../log.js'
import type { Paint } from '../log.js'

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
  const enabled = schema.servers.filter(({ disabled }) => !disabled).map((server) => server.name)
  const count = `${enabled.length} ${enabled.length === 1 ? 'server' : 'servers'}`
  const names = enabled.length === 0 ? '' : `: ${namesShown(enabled)}`
  return [
    paint('title', escapeText(`${name} ${version}`)),
    `  mode     stdio`,
    `  schema   ${escapeText(`${schema.name} (${count}${names})`)}`,
    `  config   ${escapeText(config.source)}`,
    `${paint('info', 'JSON-RPC 2.0 ready')}: one message per line on stdin, answers on stdout${isInteractive ? ', Ctrl-D ends' : ''}`,
    `  try      {"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
    '',
  ].join('\n')
}

const namesShownMax = 8

function namesShown(names: readonly string[]): string {
  const more = names.length - namesShownMax
  return `${names.slice(0, namesShownMax).join(', ')}${more > 0 ? `, and ${more} more` : ''}`
}
