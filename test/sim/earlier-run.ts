// Files that an earlier run of the proxy has written, and their damage since.

import { KeptStore, keptFileName } from '../../src/kept/store.js'
import { limits } from '../../src/limits.js'
import type { ListKind } from '../../src/mcp/methods.js'
import type { KeptFacts } from '../../src/upstream/contracts/kept.js'
import type { MemoryFiles } from '../kept/support/memory-files.js'
import { serversOf, sources } from './configuration.js'
import type { Host } from './host.js'
import { at } from './json.js'
import { ALIEN, GONE, type KeptPlan, type Left, type Plan, type ServerPlan } from './plan.js'
import { ServerFacts, isList, lists } from './server.js'

/** Writes the files before the disk gets its faults. */
export function runEarlier(host: Host, { servers }: Plan, kept: KeptPlan): void {
  const { files } = host
  for (const [at, server] of servers.entries()) {
    const left = kept.left[at] ?? 'nothing'
    if (left !== 'nothing') leave(host, server, left)
  }
  const file = files.stored.get(keptFileName(sources.own))
  if (kept.isTorn && file !== undefined) file.bytes = file.bytes.subarray(0, file.bytes.length / 2)
  files.troubles.readsFail = kept.disk === 'unreadable'
  files.troubles.folder = kept.disk === 'no-folder' ? 'EROFS: read-only file system' : undefined
  files.troubles.writes = kept.disk === 'full' ? 'ENOSPC: no space left on device' : undefined
}

const log = (): void => {}

function leave(host: Host, server: ServerPlan, left: Exclude<Left, 'nothing'>): void {
  const { files, runtime, seed } = host
  const source = left === 'other-file' ? sources.other : sources.own
  const [config] = serversOf([server], source, left === 'other-values' ? 'other' : undefined)
  if (config === undefined) throw new Error(`there is no ${server.name}`)
  const secret = (bytes: number): Buffer => Buffer.alloc(bytes, `${seed}`)
  const store = new KeptStore(limits.kept, { files, runtime: { ...runtime, secret }, log, source })
  const isOwn = left === 'same' || left === 'silent'
  const own = described(server, left === 'silent' ? 'it failed' : undefined)
  store.of(config).keep(isOwn ? own : foreign(server, left === 'stale' ? GONE : ALIEN))
  store.close()
  if (left === 'damaged') change(files, server, `{\\"name\\"`, `{\\"name\\`)
  if (left === 'torn') change(files, server, '"probeFailed":', '"isSly":')
}

/** Changes only the stored entry of this server. */
function change(files: MemoryFiles, server: ServerPlan, from: string, to: string): void {
  const file = files.stored.get(keptFileName(sources.own))
  const lines = file?.bytes.toString().split('\n') ?? []
  const at = lines.findIndex((line) => line.includes(`"name":"${server.name}"`))
  const changed = lines[at]?.replaceAll(from, to)
  if (file === undefined || changed === undefined) throw new Error(`nothing was kept of ${server.name}`)
  file.bytes = Buffer.from(lines.toSpliced(at, 1, changed).join('\n'))
}

function described(plan: ServerPlan, failure?: string): KeptFacts {
  const facts = new ServerFacts(plan, 0)
  const items = Object.entries(lists).map(([method, { member }]): [ListKind, Buffer[]] => {
    const kind = member === 'resourceTemplates' ? 'templates' : member
    return [kind, isList(method) && facts.sizeOf(method) > 0 ? itemsOf(facts.listed(method, {}), member) : []]
  })
  const handshake = Buffer.from(facts.described())
  return {
    failure,
    description: { handshake, lists: new Map(items.filter(([, all]) => all.length > 0)), probeFailed: false },
  }
}

function itemsOf(result: string, member: string): Buffer[] {
  const items = at(JSON.parse(result), member)
  return Array.isArray(items) ? items.map((item: unknown) => Buffer.from(JSON.stringify(item))) : []
}

function foreign(server: ServerPlan, word: string): KeptFacts {
  const facts = described({ ...server, offers: ['resources', 'prompts'] })
  const { handshake = Buffer.alloc(0), lists: own = new Map() } = facts.description ?? {}
  const spoken = `${Buffer.from(handshake).toString().slice(0, -1)},"instructions":"${word}"}`
  const tools = ['work', word, `${word}-too`].map((name) => Buffer.from(`{"name":"${name}"}`))
  const all = new Map([...own, ['tools', tools]])
  return {
    failure: undefined,
    description: { handshake: Buffer.from(spoken), lists: all, probeFailed: false },
  }
}
