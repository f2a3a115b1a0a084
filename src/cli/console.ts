// The output of the command for a person: results on stdout; the banner, the log and a status line on stderr.
//
// Nothing writes to stdout here while stdio is served, when stdout belongs to the protocol.

import process from 'node:process'
import type { Configuration, SchemaConfig } from '../config/configuration.js'
import type { Paint } from '../log/lines.js'
import type { LogStream } from '../log/log.js'
import type { LogRecord } from '../runtime/runtime.js'
import { counted } from '../text/counted.js'
import { escapeOutput, escapeText } from '../text/escape.js'

const ignore = (): void => {}

/** Whether a person looks at what is said on stdout, and how wide a line may be. */
export function readerOfStdout(): { readonly isPerson: boolean; readonly columns: number } {
  const { isTTY, columns } = process.stdout
  return { isPerson: isTTY, columns: columns > 0 ? columns : Number.POSITIVE_INFINITY }
}

/** Writes text without controls of terminals but colours. Resolves once the text is out, also when the reader has left. */
export function say(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  return write(stream, escapeOutput(text))
}

/** Writes the bytes of a result to stdout unchanged, for another program. */
export function pass(text: string): Promise<void> {
  return write('stdout', text)
}

async function write(stream: 'stdout' | 'stderr', text: string): Promise<void> {
  const target = process[stream]
  // A reader that left (`| head -1`) is no failure of ours.
  target.on('error', ignore)
  const failed = await new Promise<boolean>((resolve) => {
    target.write(text, (error) => resolve(error instanceof Error))
  })
  // The error of a write that failed is still to come.
  if (!failed) target.off('error', ignore)
}

/** Says what is wrong, and gives the exit code. */
export async function failed(problem: string, exitCode: number): Promise<number> {
  await say('stderr', `mcps-proxy: ${escapeText(problem)}\n`)
  return exitCode
}

/** The members of stderr that the screen uses. */
export interface Terminal extends LogStream {
  readonly columns?: number
}

/** The width when the terminal does not report one. */
const columnsDefault = 80

const erase = '\r\u001b[2K'

/** Whether a line may change: on a terminal that can erase one. */
export function canErase(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  return isTerminal && env['TERM'] !== 'dumb'
}

/** Passes what is written to stderr, and keeps the line of what is awaited below it. */
export class Screen implements LogStream {
  readonly #terminal: Terminal
  /** Whether there is ever a line. */
  readonly isShown: boolean
  readonly #awaited = new Set<string>()
  #line = ''

  /** Unless `isShown`, nothing but what is written goes out. */
  constructor(terminal: Terminal, isShown: boolean) {
    this.#terminal = terminal
    this.isShown = isShown
  }

  get writableLength(): number {
    return this.#terminal.writableLength
  }

  write(text: string, written?: () => void): boolean {
    if (text === '') return this.#terminal.write(text, written)
    const above = this.#line === '' ? '' : erase
    this.#line = this.#text()
    return this.#terminal.write(`${above}${text}${this.#line}`, written)
  }

  /** Another writer is about to write whole lines to the same terminal: the line is gone until the next write. */
  makeWay(): void {
    if (this.#line === '') return
    this.#line = ''
    this.#terminal.write(erase)
  }

  await(name: string): void {
    this.#awaited.add(name)
    this.#draw()
  }

  /** The item has come, or is not awaited any more. */
  settle(name: string): void {
    if (this.#awaited.delete(name)) this.#draw()
  }

  close(): void {
    this.#awaited.clear()
    this.#draw()
  }

  #draw(): void {
    const line = this.#text()
    if (line === this.#line) return
    this.#line = line
    this.#terminal.write(`${erase}${line}`)
  }

  /** One line that is not wrapped, since only one line is erased; empty when nothing is shown. */
  #text(): string {
    if (!this.isShown || this.#awaited.size === 0) return ''
    const names = [...this.#awaited].map((name) => escapeText(name)).join(', ')
    const text = `waiting for ${names}`
    // A terminal that does not know its width says 0.
    const { columns = 0 } = this.#terminal
    const room = (columns > 0 ? columns : columnsDefault) - 1
    return text.length <= room ? text : `${text.slice(0, Math.max(0, room - 1))}…`
  }
}

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
      ['group', schemaLine(schema)],
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
      ...enabled.map((schema) => ['group', `${schemaLine(schema)} at ${pathOf(schema)}`] as const),
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
    facts.filter(([name]) => name !== 'try' && name !== 'group').map(([name, text]) => [name, text]),
  )
  const schemas = facts.filter(([name]) => name === 'group').map(([, text]) => text)
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
