// The interface to `mcps.lock`: what a server lists is compared with what was accepted of it.

import type { ListItem } from '../../mcp/list-items.js'
import type { ServerConfig } from './server-config.js'

export const changeActions = ['warn', 'hide', 'fail'] as const

/** The consequence of a change: a line in the log, an item that no client sees, or a server that is not used. */
export type ChangeAction = (typeof changeActions)[number]

/** The entries of a lock. */
export type LockedKind = 'instructions' | 'tools' | 'prompts'

/** The instructions and lists of one process of a server, or of an earlier start of it. */
export interface Listed {
  /** Undefined where the server has not said yet. */
  readonly instructions: { readonly text: string | undefined } | undefined
  /** Without the lists that are not known. */
  readonly lists: ReadonlyMap<'tools' | 'prompts', readonly ListItem[]>
}

/** One difference between the lock and the server. */
export interface ListChange {
  readonly kind: LockedKind
  /** The server's own name; `instructions` for those. */
  readonly name: string
  readonly change: 'new' | 'changed' | 'removed'
}

/** The part of a server that clients get. */
export interface Verdict {
  /** The items of before, some of them marked as withheld. */
  readonly lists: ReadonlyMap<'tools' | 'prompts', readonly ListItem[]>
  readonly showsInstructions: boolean
  /** Why the server is not used at all, and in what of it; nothing where the lock itself cannot be used. */
  readonly blocked: { readonly why: string; readonly by: readonly ListChange['kind'][] } | undefined
  readonly changes: readonly ListChange[]
}

/** Compares what the servers of one schema list with one state of the lock; another state is another object. */
export interface ListGuard {
  /** Undefined for a server that is not locked. */
  judge(config: ServerConfig, listed: Listed): Verdict | undefined
  /** Lists of a process have been read. With `isWhole`, all were read, and a server that is not locked is locked with them. */
  complete(config: ServerConfig, listed: Listed, isWhole: boolean): void
}
