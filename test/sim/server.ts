// A scripted server of either kind, as the rest of a simulation sees it.

import type { FaultName } from './matrix.js'
import type { Milestone, Script } from './script.js'
import type { Random } from './random.js'
import { textAt } from './json.js'
import { STATELESS } from './request-meta.js'
import { CAREFUL } from './consent.js'
import type { Ledger } from './ledger.js'
import type { ListMethod, ServerPlan } from './plan.js'
import { Rounds } from './rounds.js'

export interface SimServer {
  readonly facts: ServerFacts
  /** The instances that are up: processes, or sessions. */
  readonly scripts: readonly Script[]
  /** Bytes that the proxy has written to it and it has not read. */
  readonly unread: number
  /** Bytes that it has written and the proxy has not read. */
  readonly unheard: number
  /** Makes a fault happen now, or at the next occasion. */
  strike(fault: FaultName, random: Random): void
  /** Everything that lasts is over. */
  mend(): void
  /** Hears of what its instances do. */
  onMilestone: (milestone: Milestone) => void
}

/** The lists of a server: the member of the result that has the items, and that of an item which says whose it is. */
export const lists = {
  'tools/list': { member: 'tools', key: 'name' },
  'prompts/list': { member: 'prompts', key: 'name' },
  'resources/list': { member: 'resources', key: 'uri' },
  'resources/templates/list': { member: 'resourceTemplates', key: 'uriTemplate' },
} as const

export function isList(method: string): method is ListMethod {
  return Object.hasOwn(lists, method)
}

/** Revisions that the scripted servers speak. */
const known = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** What all processes of one server have in common: its lists, and the answers that do not depend on who asks. */
export class ServerFacts {
  readonly plan: ServerPlan
  /** Longer lines are over the proxy's limit. */
  readonly lineBytesMax: number
  /** Every answer to `initialize` waits until it is released. */
  holdsInitialize = false
  /** It answers requests for its lists with an error. */
  refusesLists = false
  /** A fault has struck it: what it was not told may have been lost on the way. */
  struck = false
  /** Faults are over: no call ends it, or spoils an answer, any more. */
  calm = false
  /** An earlier run has kept lists that may be taken back: they are other ones, or it may not start. */
  isRecalled = false
  /** When its processes were started. */
  readonly starts: number[] = []
  readonly #grownAt: number[] = []
  #rounds: Rounds | undefined

  constructor(plan: ServerPlan, lineBytesMax: number) {
    this.plan = plan
    this.lineBytesMax = lineBytesMax
  }

  /** What it holds back for a while is over. */
  mend(): void {
    this.holdsInitialize = false
    this.refusesLists = false
  }

  get tools(): number {
    return this.#first.length + this.#grownAt.length
  }

  /** How many items it has in a list. */
  sizeOf(list: ListMethod): number {
    if (list === 'tools/list') return this.tools
    if (list === 'prompts/list') return this.plan.offers.includes('prompts') ? 1 : 0
    return !this.plan.offers.includes('resources') ? 0 : list === 'resources/list' ? 2 : 1
  }

  /** The tools that it has from its start on. */
  get #first(): readonly string[] {
    return this.plan.confirms === true ? ['work', CAREFUL] : ['work']
  }

  /** Whether it works when a tool of this name is called. */
  hasTool(name: string | undefined): boolean {
    return name !== undefined && this.#first.includes(name)
  }

  grow(at: number): void {
    this.#grownAt.push(at)
  }

  /** How many tools it got from some moment on and until somebody saw it first. */
  grownSince(at: number): number {
    return this.#grownAt.filter((grown) => grown >= at).length
  }

  /** What it has asked during the calls that it has; whichever of its processes gets the next request goes on. */
  roundsOf(ledger: Ledger): Rounds {
    this.#rounds ??= new Rounds(this.plan.name, ledger)
    return this.#rounds
  }

  has(uri: string): boolean {
    return uri.startsWith(`sim://${this.plan.name}/`)
  }

  /** What it says of itself to whoever opens it. */
  described(): string {
    if (this.plan.isStateless !== true) return this.initialized('')
    const info = `"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"${this.plan.name}","version":"1"}}`
    const versions = `"supportedVersions":["${STATELESS}"]`
    return `{"resultType":"complete",${versions},"capabilities":{${this.#capabilities}},"ttlMs":0,"cacheScope":"private",${info}}`
  }

  initialized(version: string): string {
    const spoken = known.includes(version) ? version : known[0]
    const info = `{"name":"${this.plan.name}","version":"1"}`
    return `{"protocolVersion":"${spoken}","capabilities":{${this.#capabilities}},"serverInfo":${info}}`
  }

  get #capabilities(): string {
    const members = this.plan.offers.map((name) =>
      name === 'resources' ? '"resources":{"subscribe":true,"listChanged":true}' : `"${name}":{}`,
    )
    return ['"tools":{"listChanged":true}', ...members].join(',')
  }

  listed(method: string, message: unknown): string {
    const { name } = this.plan
    switch (method) {
      case 'tools/list':
        return this.#tools(textAt(message, 'params', 'cursor'))
      case 'resources/list':
        return `{"resources":[{"uri":"sim://${name}/a","name":"a"},{"uri":"sim://${name}/b","name":"b"}]}`
      case 'resources/templates/list':
        return `{"resourceTemplates":[{"uriTemplate":"sim://${name}/t/{x}","name":"t"}]}`
      case 'prompts/list':
        return '{"prompts":[{"name":"hello"}]}'
      default:
        return '{}'
    }
  }

  read(method: string, message: unknown, stamp: string): string {
    const about = textAt(message, 'params', '_meta', 'about') ?? ''
    const read = { 'resources/read': '"contents":[]', 'prompts/get': '"messages":[]' }[method]
    return `{${read ?? '"completion":{"values":[]}'},"about":"${about} ${stamp}"}`
  }

  /** Two pages, as soon as it has grown. */
  #tools(cursor: string | undefined): string {
    const schema = this.plan.schema
      ? ',"inputSchema":{"type":"object","properties":{"nonce":{"type":"string"}},"required":["nonce"]}'
      : ',"inputSchema":{"type":"object"}'
    const first = this.#first
    const names = [...first, ...Array.from({ length: this.#grownAt.length }, (_, at) => `extra-${at}`)]
    const shown = cursor === undefined ? first : names.slice(first.length)
    const tools = shown.map((name) => `{"name":"${name}"${schema}}`).join(',')
    const next = cursor === undefined && names.length > first.length ? ',"nextCursor":"more"' : ''
    return `{"tools":[${tools}]${next}}`
  }
}
