// Proxies whose servers are trees of processes that will not go.

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ServerEntry, nodeProgram } from '../../integration/support/programs.js'
import { Spawned } from '../../integration/support/spawned.js'
import { killMarked, markName } from './marked.js'

/** The three processes of one server that ignores the end of its stdin and SIGTERM. */
export function tree(mark: string): ServerEntry {
  return nodeProgram('tree.mjs', { [markName]: mark }, {})
}

/** Runs a proxy with these servers, and leaves nothing of it behind whatever comes of `use`. */
export async function withProxy<T>(
  { cli, mark, nodeArgs = [] }: { cli: string; mark: string; nodeArgs?: readonly string[] },
  mcpServers: Readonly<Record<string, ServerEntry>>,
  use: (proxy: Spawned) => Promise<T>,
): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'mcps-faults-'))
  try {
    const config = join(folder, 'config.json')
    writeFileSync(config, JSON.stringify({ mcpServers }))
    const proxy = new Spawned(process.execPath, [...nodeArgs, cli, '--stdio', '--config', config])
    try {
      return await use(proxy)
    } finally {
      proxy.kill()
    }
  } finally {
    killMarked(mark)
    rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
  }
}
