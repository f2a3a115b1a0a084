// How what a client says gets to the proxy, and what it is told gets back.

import type { ClientInbox } from './client-inbox.js'
import type { Entry } from './ledger.js'

/** A message, and the requests in it. */
export interface Said {
  readonly text: string
  readonly entries: readonly Entry[]
  /** Called when the proxy has read it. */
  readonly read: () => void
  /** Called when it is about to, where that can be told. */
  readonly arrives: (() => void) | undefined
  /** The request that it gives up. */
  readonly cancels?: Entry | undefined
}

/** The way between a client and the proxy. */
export interface ClientWire {
  /** The client has not ended its own side. */
  readonly speaks: boolean
  /** It is told of what belongs to no request, too. */
  readonly hears: boolean
  /** Bytes that the proxy keeps for it. */
  readonly backlogBytes: number
  /** The id of its session, over HTTP. */
  readonly session?: string | undefined
  /** Everything is given back. */
  readonly released: boolean
  /** What comes is for this inbox; called once, before anything is sent. */
  start(inbox: ClientInbox): void
  send(said: Said): void
  /** Bytes that the proxy has said in all where the answer to this request comes; undefined where nobody can tell. */
  taken(entry: Entry): number | undefined
  /** Stops or goes on reading. */
  read(on: boolean): void
  /** The client has nothing more to say. */
  finish(): void
  /** Its session has ended, and with it whatever else it has. */
  gone?(): void
  /** It is gone from one moment to the next. */
  vanish(): void
  /** It loses its connections, and is still there. */
  cut(): void
}
