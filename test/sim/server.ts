// A scripted server of either kind, as the other parts of a simulation see it.

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
  readonly scripts: readonly Script[]
  /** Bytes that the proxy has written and the server has not read. */
  readonly unread: number
  /** Bytes that the server has written and the proxy has not read. */
  readonly unheard: number
  strike(fault: FaultName, random: Random): void
  mend(): void
  onMilestone: (milestone: Milestone) => void
}

/** The member of a list result with the items, and the member of an item that names its server. */
export const lists = {
  'tools/list': { member: 'tools', key: 'name' },
  'prompts/list': { member: 'prompts', key: 'name' },
  'resources/list': { member: 'resources', key: 'uri' },
  'resources/templates/list': { member: 'resourceTemplates', key: 'uriTemplate' },
} as const

export function isList(method: string): method is ListMethod {
  return Object.hasOwn(lists, method)
}

const known = ['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']

/** The common state of all processes of one server: its lists, and the answers that do not depend on the client. */
export class ServerFacts {
  readonly plan: ServerPlan
  readonly lineBytesMax: number
  /** Every answer to `initialize` waits until it is released. */
  holdsInitialize = false
  refusesLists = false
  /** A fault has struck the server, so messages to it may be lost. */
  struck = false
  /** All faults have stopped: no call ends the server or spoils an answer. */
  calm = false
  /** The proxy may have recalled other lists of an earlier run. */
  isRecalled = false
  readonly starts: number[] = []
  readonly #grownAt: number[] = []
  #rounds: Rounds | undefined

  constructor(plan: ServerPlan, lineBytesMax: number) {
    this.plan = plan
    this.lineBytesMax = lineBytesMax
  }

  mend(): void {
    this.holdsInitialize = false
    this.refusesLists = false
  }

  get tools(): number {
    return this.#first.length + this.#grownAt.length
  }

  sizeOf(list: ListMethod): number {
    if (list === 'tools/list') return this.tools
    if (list === 'prompts/list') return this.plan.offers.includes('prompts') ? 1 : 0
    return !this.plan.offers.includes('resources') ? 0 : list === 'resources/list' ? 2 : 1
  }

  /** The tools at its start. */
  get #first(): readonly string[] {
    return this.plan.confirms === true ? ['work', CAREFUL] : ['work']
  }

  hasTool(name: string | undefined): boolean {
    return name !== undefined && this.#first.includes(name)
  }

  grow(at: number): void {
    this.#grownAt.push(at)
  }

  /** How many tools it has got since `at`. */
  grownSince(at: number): number {
    return this.#grownAt.filter((grown) => grown >= at).length
  }

  /** The questions of all its calls, which every process can continue. */
  roundsOf(ledger: Ledger): Rounds {
    this.#rounds ??= new Rounds(this.plan.name, ledger)
    return this.#rounds
  }

  has(uri: string): boolean {
    return uri.startsWith(`sim://${this.plan.name}/`)
  }

  /** The result of the request that initializes it. */
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

  /** Two pages, once it has more tools. */
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
