// The files that an earlier run of the proxy has written, and what became of them since.

import { KeptDisk } from '../../src/kept/disk.js'
import { KEY_FILE, readNames } from '../../src/kept/names.js'
import { KeptStore } from '../../src/kept/store.js'
import { limits } from '../../src/limits.js'
import type { ListKind } from '../../src/mcp/methods/method-row.js'
import type { Runtime } from '../../src/runtime/runtime.js'
import type { KeptFacts } from '../../src/upstream/contracts/kept.js'
import type { ServerConfig } from '../../src/upstream/contracts/server-config.js'
import type { MemoryFiles } from '../kept/support/memory-files.js'
import { setOf } from './brain.js'
import { serversOf, sources } from './configuration.js'
import { at } from './json.js'
import { ALIEN, GONE, type KeptPlan, type Left } from './kept-plan.js'
import type { Plan, ServerPlan } from './plan.js'
import { ServerFacts } from './server-facts.js'

export interface EarlierLife {
  readonly plan: Plan
  readonly kept: KeptPlan
  readonly files: MemoryFiles
  readonly runtime: Runtime
}

/** Writes the files; the disk is well until that has been done. */
export async function liveBefore(life: EarlierLife): Promise<void> {
  for (const [index, server] of life.plan.servers.entries()) {
    const left = life.kept.left[index] ?? 'nothing'
    if (left !== 'nothing') await leave(life, server, left)
  }
  const { kept, files } = life
  const key = files.stored.get(KEY_FILE)
  if (kept.isKeyTorn && key !== undefined) key.bytes = key.bytes.subarray(1)
  files.troubles.readsFail = kept.disk === 'unreadable'
  files.troubles.folder = kept.disk === 'no-folder' ? 'EROFS: read-only file system' : undefined
  files.troubles.writes = kept.disk === 'full' ? 'ENOSPC: no space left on device' : undefined
}

async function leave(life: EarlierLife, server: ServerPlan, left: Left): Promise<void> {
  const own = configOf(server, sources.own)
  switch (left) {
    case 'nothing':
      return
    case 'same':
    case 'silent':
      return keep(life, own, sources.own, described(server, left === 'same'))
    case 'stale':
      return keep(life, own, sources.own, foreign(server, GONE))
    case 'damaged':
    case 'torn':
      await keep(life, own, sources.own, foreign(server, ALIEN))
      return change(life, own, (bytes) => (left === 'torn' ? half(bytes) : damaged(bytes)))
    case 'swapped': {
      const bytes = await other(life, server)
      await keep(life, own, sources.own, foreign(server, ALIEN))
      return change(life, own, (before) => bytes ?? before)
    }
    case 'other-values':
      return void (await other(life, server))
    case 'other-file':
      return keep(life, configOf(server, sources.other), sources.other, foreign(server, ALIEN))
  }
}

/** A server of the same name with other values; gives its file. */
async function other(life: EarlierLife, server: ServerPlan): Promise<Buffer | undefined> {
  const config = configOf(server, sources.own, 'other')
  await keep(life, config, sources.own, foreign(server, ALIEN))
  return stored(life, config)?.bytes
}

const log = (): void => {}

async function keep(
  life: EarlierLife,
  config: ServerConfig,
  source: string,
  facts: KeptFacts,
): Promise<void> {
  const { plan, files, runtime } = life
  const secret = (bytes: number): Buffer => Buffer.alloc(bytes, `${plan.seed}`)
  const disk = new KeptDisk({
    files,
    limits: limits.kept,
    runtime: { ...runtime, secret },
    log,
    source,
    servers: [config],
  })
  const store = new KeptStore(limits.kept, disk)
  const sets = [
    '',
    'elicitation roots sampling',
    ...plan.clients.map(({ capabilities }) => setOf(capabilities)),
  ]
  for (const set of new Set(sets)) store.of(config)?.keep(set, facts)
  await store.close()
}

function change(life: EarlierLife, config: ServerConfig, changed: (bytes: Buffer) => Buffer): void {
  const file = stored(life, config)
  if (file === undefined) throw new Error(`nothing was kept of ${config.name}`)
  file.bytes = changed(file.bytes)
}

function stored({ files }: EarlierLife, config: ServerConfig): { bytes: Buffer } | undefined {
  return files.stored.get(readNames(files, sources.own)?.file(config) ?? '')
}

function half(bytes: Buffer): Buffer {
  return bytes.subarray(0, bytes.length / 2)
}

/** As long as before, and as easy to read. */
function damaged(bytes: Buffer): Buffer {
  return Buffer.from(bytes.toString('latin1').replace('"version":"1"', '"version":"2"'), 'latin1')
}

function configOf(server: ServerPlan, source: string, value?: string): ServerConfig {
  const [config] = serversOf([server], source, value)
  if (config === undefined) throw new Error(`there is no ${server.name}`)
  return config
}

/** What the server says today. */
function described(plan: ServerPlan, answered: boolean): KeptFacts {
  const facts = new ServerFacts(plan, 0)
  const lists = new Map(
    shapes
      .filter(([kind]) => kind === 'tools' || plan.offers.includes(kind === 'prompts' ? kind : 'resources'))
      .map(([kind, method, member]) => [kind, itemsOf(facts.listed(method, {}), member)]),
  )
  return { answered, description: { handshake: Buffer.from(facts.described()), lists, isShy: false } }
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
  const facts = described({ ...server, offers: ['resources', 'prompts'] }, true)
  const { handshake = Buffer.alloc(0), lists = new Map() } = facts.description ?? {}
  const spoken = Buffer.from(handshake).toString().slice(0, -1)
  const tools = ['work', word, `${word}-too`].map((name) => Buffer.from(`{"name":"${name}"}`))
  return {
    answered: true,
    description: {
      handshake: Buffer.from(`${spoken},"instructions":"${word}"}`),
      lists: new Map([...lists, ['tools', tools]]),
      isShy: false,
    },
  }
}
