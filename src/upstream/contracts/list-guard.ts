// The interface to `mcps.lock`, which compares the lists of a server with the accepted ones.

import type { ListItem } from '../../mcp/list-items.js'
import type { ServerConfig } from './server-config.js'

export const changeActions = ['warn', 'hide', 'fail'] as const

/** The consequence of a change: a log line, an item that no client sees, or a server that is not used. */
export type ChangeAction = (typeof changeActions)[number]

export type LockedKind = 'instructions' | 'tools' | 'prompts'

/** The instructions and lists of one process of a server, or of an earlier start of it. */
export interface Listed {
  /** Undefined until the server has answered. */
  readonly instructions: { readonly text: string | undefined } | undefined
  /** The lists that are known. */
  readonly lists: ReadonlyMap<'tools' | 'prompts', readonly ListItem[]>
}

export interface ListChange {
  readonly kind: LockedKind
  /** The server's own name of the item; `instructions` for the instructions. */
  readonly name: string
  readonly change: 'new' | 'changed' | 'removed'
}

/** The part of a server that clients see. */
export interface Verdict {
  /** The same items, some of them marked as withheld. */
  readonly lists: ReadonlyMap<'tools' | 'prompts', readonly ListItem[]>
  readonly showsInstructions: boolean
  /** Why the server is not used, and the kinds of its changes; no kinds if the lock itself is unusable. */
  readonly blocked: { readonly why: string; readonly by: readonly ListChange['kind'][] } | undefined
  readonly changes: readonly ListChange[]
}

/** Compares the lists of the servers of one schema with one state of the lock, and never with another. */
export interface ListGuard {
  /** Undefined for a server that is not locked. */
  judge(config: ServerConfig, listed: Listed): Verdict | undefined
  /** Called after lists were read. With `isWhole`, all were read, and an unlocked server is locked. */
  complete(config: ServerConfig, listed: Listed, isWhole: boolean): void
}
