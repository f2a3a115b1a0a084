// Output for a person: results on stdout; the banner and notes on stderr.
//
// While stdio is served, stdout belongs to the protocol, and nothing here writes to it.

import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import { needsToken } from '../config/front.js'
import { type Paint, noPaint, paintFor } from '../log/lines.js'
import type { LogRecord } from '../runtime/runtime.js'
import { counted } from '../text/counted.js'
import { escapeOutput, escapeText } from '../text/escape.js'
import { version } from '../version.js'

const ignore = (): void => {}

/** Writes lines to stdout; their texts may come from a server or a file. */
export function print(...lines: readonly string[]): Promise<void> {
  return say('stdout', lines.map((line) => `${escapeText(line)}\n`).join(''))
}

/** The lines of a table with two columns; the second column ends at `columns`. */
export function aligned(
  rows: readonly (readonly [name: string, text: string])[],
  paint: Paint = noPaint,
  columns: number = Number.POSITIVE_INFINITY,
): string[] {
  const width = Math.max(0, ...rows.map(([name]) => escapeText(name).length))
  const room = Math.max(20, columns - width - 2)
  return rows.map(([name, text]) => {
    const gap = ' '.repeat(width - escapeText(name).length)
    const shown = text.length > room ? `${text.slice(0, room - 1)}…` : text
    return `${paint('service', escapeText(name))}${gap}  ${escapeText(shown)}`.trimEnd()
  })
}

/** The style of a table on stdout: colours, and the width of the reader's terminal. */
export async function tableStyle(): Promise<{ readonly paint: Paint; readonly columns: number }> {
  const { isTTY, columns } = process.stdout
  const paint = await paintFor(isTTY, process.env)
  return { paint, columns: columns > 0 ? columns : Number.POSITIVE_INFINITY }
}

/** Writes text without terminal controls except colours. Resolves once it is written, even if the reader has left. */
export function say(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  return write(stream, escapeOutput(text))
}

/** Writes a server's result to stdout: unchanged for a program, and escaped for a terminal. */
export function pass(text: string): Promise<void> {
  return write('stdout', process.stdout.isTTY ? text.replaceAll(/[^\t\n]+/g, escapeText) : text)
}

async function write(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  const target = process[stream]
  // A reader that left (`| head -1`) is no failure.
  target.on('error', ignore)
  const failed = await new Promise<boolean>((resolve) => {
    target.write(text, (error) => resolve(error instanceof Error))
  })
  // The stream has yet to emit the error of a failed write, so the listener stays.
  if (!failed) target.off('error', ignore)
}

export function note(text: string): Promise<void> {
  return say('stderr', `mcps-proxy: ${escapeText(text)}\n`)
}

/** A failure with a message for a person. The exit code is 1 for a failed run, and 2 for a mistake of the user. */
export class Failure extends Error {
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

export interface Banner {
  readonly program: string
  readonly ready: string
  readonly facts: readonly (readonly [name: string, text: string])[]
  /** For a person at a terminal, after `ready`. */
  readonly howToEnd: string
}

/** `isTyped` means that a person types the messages. */
export function stdioBanner(config: Configuration, schema: SchemaConfig, isTyped: boolean): Banner {
  return {
    program: `${config.server.name} ${version}`,
    ready: 'JSON-RPC 2.0 ready: one message per line on stdin, answers on stdout',
    howToEnd: isTyped ? ', Ctrl-D ends' : '',
    facts: [
      ['mode', 'stdio'],
      ['group', schemaLine(schema)],
      ['config', config.source],
      ['try', '{"jsonrpc":"2.0","id":1,"method":"tools/list"}'],
    ],
  }
}

/** `host` is the bound address, and `origin` is an address for clients on this machine. */
export function httpBanner(
  config: Configuration,
  { host, origin }: { readonly host: string; readonly origin: string },
): Banner {
  const enabled = [...config.schemas.values()].filter((schema) => schema.enabled)
  const where = ['0.0.0.0', '::'].includes(host) ? ' on every address of this machine' : ''
  return {
    program: `${config.server.name} ${version}`,
    ready: `JSON-RPC 2.0 ready: POST to ${origin}${pathOf(enabled[0])}`,
    howToEnd: ', Ctrl-C ends',
    facts: [
      ['mode', `http${where}${needsToken(config.server) ? ', with a bearer token' : ''}`],
      ...enabled.map((schema) => ['group', `${schemaLine(schema)} at ${pathOf(schema)}`] as const),
      ['config', config.source],
      ['status', `${origin}/api/status`],
    ],
  }
}

export function bannerText({ program, ready, howToEnd, facts }: Banner, paint: Paint): string {
  return [
    paint('title', escapeText(program)),
    ...facts.map(([name, text]) => `  ${name.padEnd(8)} ${escapeText(text)}`),
    `${paint('info', ready)}${howToEnd}`,
    '',
  ].join('\n')
}

export function bannerRecord({ program, ready, facts }: Banner): LogRecord {
  const details = Object.fromEntries(
    facts.filter(([name]) => name !== 'try' && name !== 'group').map(([name, text]) => [name, text]),
  )
  const schemas = facts.filter(([name]) => name === 'group').map(([, text]) => text)
  return { level: 'info', message: ready, details: { program, ...details, schemas } }
}

function pathOf(schema: SchemaConfig | undefined): string {
  if (schema === undefined) return ''
  return schema.name === 'default' ? '/mcp' : `/api/${encodeURIComponent(schema.name)}/mcp`
}

function schemaLine({ name, servers }: SchemaConfig): string {
  const enabled = servers.filter(({ disabled }) => !disabled).map((server) => server.name)
  return `${name} (${counted(enabled.length, 'server')}${enabled.length === 0 ? '' : `: ${enabled.join(', ')}`})`
}
