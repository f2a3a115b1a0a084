// A configuration file that changes at random, in every way in which files are written.

import { closeSync, ftruncateSync, openSync, renameSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { ServerEntry } from '../../integration/support/programs.js'
import type { Random } from '../../sim/random.js'
import type { SwiftServers } from './swift.js'

/** One server as it is configured: another variant is another process, another look only another name. */
export interface Server {
  readonly variant: number
  readonly look: 'plain' | 'renamed' | 'hidden' | 'disabled'
}

/** In the order of the file. */
export type Servers = ReadonlyMap<string, Server>

/** How a file is written. */
export type Way = (typeof ways)[number]

export const ways = ['renamed', 'in place', 'half written', 'broken', 'in a burst'] as const

const keepers = ['keep0', 'keep1', 'keep2']
const guests = ['opt0', 'opt1', 'opt2', 'opt3']
/** Never for long. */
const passing = 'burst'
const asBefore: Server = { variant: 0, look: 'plain' }

export const start: Servers = new Map(keepers.map((name) => [name, asBefore]))

/** The tools that a client sees of these servers. */
export function looks(servers: Servers): string[] {
  return [...servers].flatMap(([name, { look }]) => {
    if (look === 'hidden' || look === 'disabled') return []
    return [`${name}__${look === 'plain' ? 'hit' : 'knock'}`]
  })
}

/** Longest pause in the middle of a file. */
const HALF_MS_MAX = 250

/** Writes one file. */
export class ChangingConfig {
  static readonly names: readonly string[] = [...keepers, ...guests, passing]
  readonly path: string
  readonly #swift: SwiftServers
  readonly #env: Readonly<Record<string, string>>
  #writes = 0

  constructor(folder: string, swift: SwiftServers, env: Readonly<Record<string, string>>) {
    this.path = join(folder, 'config.json')
    this.#swift = swift
    this.#env = env
    for (const name of ChangingConfig.names) writeFileSync(swift.ledger(name), '')
  }

  /** The same servers, but for some that are not meant to stay. */
  next(servers: Servers, random: Random): Servers {
    const next = new Map(servers)
    for (const name of guests) {
      if (!random.chance(0.4)) continue
      const before = next.get(name) ?? asBefore
      next.delete(name)
      if (random.chance(0.3)) continue
      const look = random.pick<Server['look']>(['plain', 'plain', 'renamed', 'hidden', 'disabled'])
      next.set(name, { look, variant: random.chance(0.5) ? before.variant : random.below(4) })
    }
    return next
  }

  way(random: Random): Way {
    return random.pick(ways)
  }

  /** Writes these servers; `between` is called where the file is not right yet. */
  async write(servers: Servers, way: Way, between: () => void): Promise<void> {
    const text = this.#text(servers)
    switch (way) {
      case 'in place':
        return writeFileSync(this.path, text)
      case 'half written':
        return this.#inHalves(text, between)
      case 'broken':
        this.#rename(text.replace('"command":', '"command":7,"comand":'))
        between()
        await pause(Math.random() * HALF_MS_MAX)
        return this.#rename(text)
      case 'in a burst':
        this.#rename(this.#text(new Map([...servers, [passing, asBefore]])))
        between()
        this.#rename(this.#text(servers))
        between()
        return this.#rename(this.#text(servers))
      case 'renamed':
        return this.#rename(text)
    }
  }

  async #inHalves(text: string, between: () => void): Promise<void> {
    const fd = openSync(this.path, 'r+')
    ftruncateSync(fd)
    writeSync(fd, text.slice(0, text.length / 2))
    between()
    await pause(Math.random() * HALF_MS_MAX)
    writeSync(fd, text.slice(text.length / 2))
    closeSync(fd)
  }

  #rename(text: string): void {
    writeFileSync(`${this.path}.new`, text)
    renameSync(`${this.path}.new`, this.path)
  }

  /** No two texts are the same, so that each is read. */
  #text(servers: Servers): string {
    const mcpServers = Object.fromEntries(
      [...servers].map(([name, server]) => [name, this.#entry(name, server)]),
    )
    return JSON.stringify({ $schema: `./${this.#writes++}.json`, mcpServers })
  }

  #entry(name: string, { variant, look }: Server): ServerEntry {
    const env = { ...this.#env, SERVER: name, VARIANT: String(variant) }
    const shown = {
      plain: {},
      renamed: { tools: { rename: { hit: 'knock' } } },
      hidden: { tools: { deny: ['hit'] } },
      disabled: { disabled: true },
    }
    return this.#swift.entry(name, { env, ...shown[look] })
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
