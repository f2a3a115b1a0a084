// The bundled Time server: `node time.js [--local-timezone=Zone]`, MCP on stdin and stdout.
//
// A proxy waits for this program when it starts, so that it imports no packages and
// leaves time zones, code and `Intl` alike, to what comes after the first answer.

import { once } from 'node:events'
import { LineBuffer } from './line-buffer.js'
import { answerLine, type TimeHost } from './time-session.js'

const ZONE_OPTION = '--local-timezone'

/** What the command line asks for; an empty zone is the system's. */
type Options =
  { readonly kind: 'options'; readonly zone: string } | { readonly kind: 'usage'; readonly error: string }

function readOptions(args: readonly string[]): Options {
  let zone = ''
  for (let at = 0; at < args.length; at += 1) {
    const arg = args[at] ?? ''
    const value = arg === ZONE_OPTION ? args[(at += 1)] : valueAfterEquals(arg)
    if (value === undefined) return { kind: 'usage', error: `cannot use argument '${arg}'` }
    zone = value
  }
  return { kind: 'options', zone }
}

function valueAfterEquals(arg: string): string | undefined {
  return arg.startsWith(`${ZONE_OPTION}=`) ? arg.slice(ZONE_OPTION.length + 1) : undefined
}

/** Answers one line before it looks at the next, and ends when the client closes stdin. */
async function serve(host: TimeHost): Promise<void> {
  const buffer = new LineBuffer()
  process.stdin.setEncoding('utf8')
  for await (const chunk of process.stdin) {
    for (const line of buffer.push(String(chunk))) await write(await answerLine(line, host))
  }
  await write(await answerLine(buffer.end(), host))
}

/** Waits while the client leaves answers unread, or they would pile up here. */
async function write(line: string | undefined): Promise<void> {
  if (line !== undefined && !process.stdout.write(`${line}\n`)) await once(process.stdout, 'drain')
}

function fail(error: string): void {
  const text = `mcp-time: ${error}\nusage: node time.js [${ZONE_OPTION}=Zone]\n`
  process.stderr.write(text, () => process.exit(1))
}

async function localZone(zone: string): Promise<string> {
  if (zone !== '') return zone
  const { systemZone } = await import('./local-zone.js')
  return systemZone(process.env['TZ'])
}

async function checkZone(zone: string): Promise<void> {
  const { isKnownZone } = await import('./local-zone.js')
  if (!isKnownZone(zone)) fail(`${ZONE_OPTION} '${zone}' is not the name of an IANA time zone`)
}

function main(): void {
  const options = readOptions(process.argv.slice(2))
  if (options.kind === 'usage') return fail(options.error)
  const { zone } = options
  // A client that has gone leaves nobody to tell, and nothing to do.
  process.stdout.on('error', () => process.exit())
  void serve({ now: Date.now, localZone: () => localZone(zone) })
  // Later than a handshake that already waits in stdin, as the check can cost more than the answer.
  if (zone !== '') setImmediate(() => void checkZone(zone))
}

main()
