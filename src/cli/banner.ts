// The message of a serving mode when clients may come: a few lines on a terminal, elsewhere one line of the log.

import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { escapeText } from '../text/escape.js'
import type { Paint } from '../log/lines.js'
import type { LogRecord } from '../runtime/runtime.js'
import { counted } from '../text/counted.js'

export interface Banner {
  /** Name and version of the program. */
  readonly program: string
  readonly ready: string
  readonly facts: readonly (readonly [name: string, text: string])[]
  /** For a person at a terminal, behind `ready`. */
  readonly howToEnd: string
}

export interface StdioBannerFacts {
  readonly name: string
  readonly version: string
  readonly config: Configuration
  readonly schema: SchemaConfig
  /** Whether a person types the messages. */
  readonly isInteractive: boolean
}

export function stdioBanner({ name, version, config, schema, isInteractive }: StdioBannerFacts): Banner {
  return {
    program: `${name} ${version}`,
    ready: 'JSON-RPC 2.0 ready: one message per line on stdin, answers on stdout',
    howToEnd: isInteractive ? ', Ctrl-D ends' : '',
    facts: [
      ['mode', 'stdio'],
      ['schema', schemaLine(schema)],
      ['config', config.source],
      ['try', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ],
  }
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

export function httpBanner({ name, version, config, host, origin, needsToken }: HttpBannerFacts): Banner {
  const enabled = [...config.schemas.values()].filter((schema) => schema.enabled)
  const where = everyAddress.includes(host) ? ' on every address of this machine' : ''
  return {
    program: `${name} ${version}`,
    ready: `JSON-RPC 2.0 ready: POST to ${origin}${pathOf(enabled[0])}`,
    howToEnd: ', Ctrl-C ends',
    facts: [
      ['mode', `http${where}${needsToken ? ', with a bearer token' : ''}`],
      ...enabled.map((schema) => ['schema', `${schemaLine(schema)} at ${pathOf(schema)}`] as const),
      ['config', config.source],
      ['status', `${origin}/api/status`],
    ],
  }
}

/** The banner as lines of a terminal. */
export function bannerText({ program, ready, howToEnd, facts }: Banner, paint: Paint): string {
  return [
    paint('title', escapeText(program)),
    ...facts.map(([name, text]) => `  ${name.padEnd(8)} ${escapeText(text)}`),
    `${paint('info', ready)}${howToEnd}`,
    '',
  ].join('\n')
}

/** The banner as one record of the log. */
export function bannerRecord({ program, ready, facts }: Banner): LogRecord {
  const details = Object.fromEntries(
    facts.filter(([name]) => name !== 'try' && name !== 'schema').map(([name, text]) => [name, text]),
  )
  const schemas = facts.filter(([name]) => name === 'schema').map(([, text]) => text)
  return { level: 'info', message: ready, details: { program, ...details, schemas } }
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
