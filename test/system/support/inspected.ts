// The proxy with its inspector, and a browser that looks at it.

import { accessSync, constants, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { type Browser, type Page, chromium } from 'playwright-core'
import type { StdioServerJson } from '../../../src/index.js'
import { root } from '../../integration/support/programs.js'
import { type Scope, Spawned, scratch } from '../../integration/support/spawned.js'
import { until } from '../../integration/support/waiting.js'

const executablePath = ['/usr/bin/chromium', '/usr/bin/chromium-browser'].find((path) => {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
})

/** Why there is no browser here; false where there is one. */
export const noBrowser: string | false =
  executablePath === undefined && 'chromium is not installed: node scripts/system-programs.mjs'

export function openBrowser(): Promise<Browser> {
  return chromium.launch({
    ...(executablePath !== undefined && { executablePath }),
    // As root it has no sandbox of its own; everything it opens here is ours.
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  })
}

/** A proxy with `--ui`. */
export interface Inspected {
  /** With the key. */
  readonly address: string
  readonly origin: string
  readonly process: Spawned
  connect(name: string): Promise<Client>
}

export async function startInspected(
  scope: Scope,
  mcpServers: Readonly<Record<string, StdioServerJson>>,
  more: object = {},
): Promise<Inspected> {
  const config = join(scratch(scope), 'config.json')
  writeFileSync(config, JSON.stringify({ mcpServers, ...more }))
  const args = [
    join(root, 'dist/cli.js'),
    'http',
    '--ui',
    '--port',
    '0',
    '--no-kept-lists',
    '--config',
    config,
  ]
  const process = new Spawned(globalThis.process.execPath, args)
  scope.after(() => process.kill())
  await until(() => addressIn(process.stderr) !== '')
  const address = addressIn(process.stderr)
  const { origin } = new URL(address)
  return {
    address,
    origin,
    process,
    connect: async (name) => {
      const client = new Client({ name, version: '1' })
      await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', origin)))
      scope.after(() => client.close())
      return client
    },
  }
}

function addressIn(text: string): string {
  return /inspector: (http\S+)/.exec(text)?.[1] ?? ''
}

/** What a page asked for, and what it complained about. */
export interface Watched {
  readonly requests: string[]
  readonly troubles: string[]
}

export function watch(page: Page): Watched {
  const watched: Watched = { requests: [], troubles: [] }
  page.on('request', (request) => watched.requests.push(request.url()))
  page.on('dialog', (dialog) => {
    watched.troubles.push(`dialog ${dialog.message()}`)
    void dialog.dismiss()
  })
  page.on('pageerror', (error) => watched.troubles.push(String(error)))
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') watched.troubles.push(message.text())
  })
  return watched
}
