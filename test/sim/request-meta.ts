// The `_meta` of a request without a session (MCP 2026-07-28).

import type { Head } from './request-head.js'
import type { Entry } from './ledger.js'
import { at, textAt } from './json.js'
import { askable } from './questions.js'

export type Askable = (typeof askable)[number]

/** What its client does when it is asked something. */
export const returns = [
  /** Comes back with the answers. */
  'answers',
  /** Comes back, and again in the same words. */
  'twice',
  /** Comes back, and again with other answers. */
  'changes',
  /** Comes back with some of the answers, and then with the others. */
  'parts',
  /** Another client comes with its state before it does. */
  'stolen',
  /** Comes with other arguments first. */
  'alters',
  /** Never comes back. */
  'leaves',
] as const

export type Returns = (typeof returns)[number]

export interface RequestMeta {
  readonly can: readonly Askable[]
  /** The first request of the call that it comes back to. */
  readonly root?: Entry
  /** What its head says over HTTP; the same as the message unless given. */
  readonly head?: Head | undefined
}

/** The revision without sessions. */
export const STATELESS = '2026-07-28'

const PREFIX = 'io.modelcontextprotocol'

/** In the `_meta` of everything that is said on account of a request that stays open. */
export const SUBSCRIPTION: string = `${PREFIX}/subscriptionId`

/** Members of `_meta`, behind others. */
export function metaMembers(meta: RequestMeta | undefined): string {
  if (meta === undefined) return ''
  const can = meta.can.map((name) => `"${name}":{}`).join(',')
  return `,"${PREFIX}/protocolVersion":"${STATELESS}","${PREFIX}/clientCapabilities":{${can}}`
}

/** The revision that a message names, whatever it is; undefined where it names none. */
export function revisionIn(message: unknown): string | undefined {
  return textAt(message, 'params', '_meta', `${PREFIX}/protocolVersion`)
}

/** What a message says that its client can be asked; undefined where it says nothing of it. */
export function capabilitiesIn(message: unknown): readonly string[] | undefined {
  const can = at(message, 'params', '_meta', `${PREFIX}/clientCapabilities`)
  return typeof can === 'object' && can !== null
    ? askable.filter((name) => at(can, name) !== undefined)
    : undefined
}

/** Whether a request says that its client wants to hear log messages during it. */
export function wantsLogs(message: unknown): boolean {
  return textAt(message, 'params', '_meta', `${PREFIX}/logLevel`) !== undefined
}
