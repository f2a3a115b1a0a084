// The interface to session ids that outlive the process, and to stored messages of their clients.

/** The facts of a session, from its `initialize`. */
export interface SealedFacts {
  readonly revision: string
  /** The name and version of the client; undefined if the client sends none. */
  readonly name: string | undefined
  readonly version: string | undefined
  /** Raw JSON on one line. */
  readonly capabilities: string
  /** Whether a server keeps the session in the memory of a process, so that no other process can continue it. */
  readonly isBound: boolean
}

export interface SessionOwner {
  readonly endpoint: { readonly name: string }
  readonly principal: string
  readonly credential?: string | undefined
}

/** Ids that contain the facts of their session, so that any process can revive it. */
export interface SessionIds {
  /** Names this process, not only its instance, in event ids. It begins with the label of the instance and a dot. */
  readonly source: string
  /** Returns undefined if the id would be too long. */
  seal(facts: SealedFacts, owner: SessionOwner): string | undefined
  /** Returns undefined for an id of another owner, an invalid id, or an old one. */
  open(id: string, owner: SessionOwner): SealedFacts | undefined
}

/** The messages of a client since `initialize` that another process must repeat. */
export interface SessionNotes {
  readonly level?: string | undefined
  readonly subscriptions: readonly string[]
}

/** The messages of clients, and their ended sessions, by the hashes of the ids. */
export interface SessionBook {
  read(hash: string): Promise<SessionNotes | 'ended' | undefined>
  write(hash: string, notes: SessionNotes): void
  /** Rejects if only this process knows of the end. */
  end(hash: string): Promise<void>
}
