// The files that an earlier run of the proxy has written, and what became of them since.

import { KeptStore, keptFileName } from '../../src/kept/store.js'
import { limits } from '../../src/limits.js'
import type { ListKind } from '../../src/mcp/methods.js'
import type { Runtime } from '../../src/runtime/runtime.js'
import type { KeptFacts } from '../../src/upstream/contracts/kept.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import type { MemoryFiles } from '../kept/support/memory-files.js'
import { serversOf, sources } from './configuration.js'
import { at } from './json.js'
import { ALIEN, GONE, type KeptPlan, type Left, type Plan, type ServerPlan } from './plan.js'
import { ServerFacts } from './server.js'

export interface EarlierRun {
  readonly plan: Plan
  readonly kept: KeptPlan
  readonly files: MemoryFiles
  readonly runtime: Runtime
}

/** Writes the files; the disk is well until that has been done. */
export async function runEarlier(life: EarlierRun): Promise<void> {
  for (const [index, server] of life.plan.servers.entries()) {
    const left = life.kept.left[index] ?? 'nothing'
    if (left !== 'nothing') await leave(life, server, left)
  }
  const { kept, files } = life
  const file = files.stored.get(keptFileName(sources.own))
  if (kept.isTorn && file !== undefined) file.bytes = file.bytes.subarray(0, file.bytes.length / 2)
  files.troubles.readsFail = kept.disk === 'unreadable'
  files.troubles.folder = kept.disk === 'no-folder' ? 'EROFS: read-only file system' : undefined
  files.troubles.writes = kept.disk === 'full' ? 'ENOSPC: no space left on device' : undefined
}

async function leave(life: EarlierRun, server: ServerPlan, left: Left): Promise<void> {
  const own = configOf(server, sources.own)
  switch (left) {
    case 'nothing':
      return
    case 'same':
    case 'silent':
      return keep(life, own, sources.own, described(server, left === 'same' ? undefined : 'it failed'))
    case 'stale':
      return keep(life, own, sources.own, foreign(server, GONE))
    case 'damaged':
      await keep(life, own, sources.own, foreign(server, ALIEN))
      return change(life, server, `{\\"name\\"`, `{\\"name\\`)
    case 'torn':
      await keep(life, own, sources.own, foreign(server, ALIEN))
      return change(life, server, '"probeFailed":', '"isSly":')
    case 'other-values':
      return keep(life, configOf(server, sources.own, 'other'), sources.own, foreign(server, ALIEN))
    case 'other-file':
      return keep(life, configOf(server, sources.other), sources.other, foreign(server, ALIEN))
  }
}

const log = (): void => {}

async function keep(life: EarlierRun, config: ServerConfig, source: string, facts: KeptFacts): Promise<void> {
  const { plan, files, runtime } = life
  const secret = (bytes: number): Buffer => Buffer.alloc(bytes, `${plan.seed}`)
  const store = new KeptStore(limits.kept, { files, runtime: { ...runtime, secret }, log, source })
  store.of(config).keep(facts)
  store.close()
}

/** In what was kept of this server alone. */
function change({ files }: EarlierRun, server: ServerPlan, from: string, to: string): void {
  const file = files.stored.get(keptFileName(sources.own))
  const lines = file?.bytes.toString().split('\n') ?? []
  const at = lines.findIndex((line) => line.includes(`"name":"${server.name}"`))
  const changed = lines[at]?.replaceAll(from, to)
  if (file === undefined || changed === undefined) throw new Error(`nothing was kept of ${server.name}`)
  file.bytes = Buffer.from(lines.toSpliced(at, 1, changed).join('\n'))
}

function configOf(server: ServerPlan, source: string, value?: string): ServerConfig {
  const [config] = serversOf([server], source, value)
  if (config === undefined) throw new Error(`there is no ${server.name}`)
  return config
}

/** What the server says today. */
function described(plan: ServerPlan, failure?: string): KeptFacts {
  const facts = new ServerFacts(plan, 0)
  const lists = new Map(
    shapes
      .filter(([kind]) => kind === 'tools' || plan.offers.includes(kind === 'prompts' ? kind : 'resources'))
      .map(([kind, method, member]) => [kind, itemsOf(facts.listed(method, {}), member)]),
  )
  return {
    failure,
    description: { handshake: Buffer.from(facts.described()), lists, probeFailed: false },
  }
}

const shapes: readonly (readonly [ListKind, string, string])[] = [
  ['tools', 'tools/list', 'tools'],
  ['prompts', 'prompts/list', 'prompts'],
  ['resources', 'resources/list', 'resources'],
  ['templates', 'resources/templates/list', 'resourceTemplates'],
]

function itemsOf(result: string, member: string): Buffer[] {
  const items = at(JSON.parse(result), member)
  return Array.isArray(items) ? items.map((item: unknown) => Buffer.from(JSON.stringify(item))) : []
}

/** What it does not say today. */
function foreign(server: ServerPlan, word: string): KeptFacts {
  const facts = described({ ...server, offers: ['resources', 'prompts'] })
  const { handshake = Buffer.alloc(0), lists = new Map() } = facts.description ?? {}
  const spoken = Buffer.from(handshake).toString().slice(0, -1)
  const tools = ['work', word, `${word}-too`].map((name) => Buffer.from(`{"name":"${name}"}`))
  return {
    failure: undefined,
    description: {
      handshake: Buffer.from(`${spoken},"instructions":"${word}"}`),
      lists: new Map([...lists, ['tools', tools]]),
      probeFailed: false,
    },
  }
}
