// The bundled Time server: `node time.js [--local-timezone=Zone]`, MCP on stdin and stdout.

import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { answerLine } from './time-session.js'
import { isZone, systemZone } from './time-tools.js'

function localZone(): string {
  const { values } = parseArgs({ options: { 'local-timezone': { type: 'string' } } })
  const zone = values['local-timezone'] || systemZone()
  if (!isZone(zone)) throw new Error(`--local-timezone '${zone}' is not the name of an IANA time zone`)
  return zone
}

/** Answers one line before it reads the next, and ends when the client closes stdin. */
async function serve(zone: string): Promise<void> {
  for await (const line of createInterface({ input: process.stdin, crlfDelay: Infinity })) {
    const answer = answerLine(line, { now: Date.now, localZone: zone })
    // Without this wait, answers that the client does not read would fill the memory.
    if (answer !== undefined && !process.stdout.write(`${answer}\n`)) await once(process.stdout, 'drain')
  }
}

process.stdout.on('error', () => process.exit())
try {
  await serve(localZone())
} catch (error) {
  const why = error instanceof Error ? error.message : String(error)
  process.stderr.write(`mcp-time: ${why}\nusage: node time.js [--local-timezone=Zone]\n`, () =>
    process.exit(1),
  )
}
