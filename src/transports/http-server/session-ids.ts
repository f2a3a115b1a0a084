// The interface to session ids that outlive the process, and to what their clients have said.

/** The facts of a session, as its `initialize` says them. */
export interface SealedFacts {
  readonly revision: string
  /** The name and version of the client; absent where it says none. */
  readonly name: string | undefined
  readonly version: string | undefined
  /** Raw JSON on one line. */
  readonly capabilities: string
  /** Whether a server keeps what it has of the session in the memory of a process, so that nothing can go on with it. */
  readonly isBound: boolean
}

/** The owner of a session. */
export interface SessionOwner {
  readonly endpoint: { readonly name: string }
  readonly principal: string
  readonly credential?: string | undefined
}

/** Ids that have the facts of their session in them, so that a process that does not know a session can go on with it. */
export interface SessionIds {
  /** Names this process, and not only its instance, in the ids of events; it begins with the label of the instance and a dot. */
  readonly source: string
  /** Undefined where the id would be too long. */
  seal(facts: SealedFacts, owner: SessionOwner): string | undefined
  /** Undefined for every id that is not one of this owner, or too old. */
  open(id: string, owner: SessionOwner): SealedFacts | undefined
}

/** The messages of a client since `initialize` that another process has to repeat. */
export interface SessionNotes {
  readonly level?: string | undefined
  /** URIs. */
  readonly subscriptions: readonly string[]
}

/** The messages of clients, and the sessions that they have ended, by the hashes of the ids. */
export interface SessionBook {
  read(hash: string): Promise<SessionNotes | 'ended' | undefined>
  write(hash: string, notes: SessionNotes): void
  /** Rejects where only this process knows of it now. */
  end(hash: string): Promise<void>
}
