// The interface to what several instances of a front share.

/** How many tokens a bucket gets in a minute, and how many it holds. */
export interface Bucket {
  readonly perMinute: number
  readonly burst: number
}

export interface TakenTokens {
  readonly taken: number
  /** Until the next token; 0 where one is left. */
  readonly waitMs: number
}

/** The store cannot be asked now, or has not answered in time; what was asked may have been done all the same. */
export class StoreAway extends Error {
  constructor(cause?: unknown) {
    super(cause instanceof Error ? `cannot be used: ${cause.message}` : 'cannot be reached', { cause })
  }
}

/** Keys and values are short, and every entry has an expiry. Each promise rejects with StoreAway when the store cannot be asked. */
export interface Store {
  get(key: string): Promise<Buffer | undefined>
  put(key: string, value: Buffer, ttlMs: number): Promise<void>
  /** True if nothing was there. */
  add(key: string, value: Buffer, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Takes up to `want` tokens. */
  take(key: string, bucket: Bucket, want: number): Promise<TakenTokens>
  /** To one instance, or to `all`; the sender gets its own messages to all too. */
  send(to: string, message: Buffer): Promise<void>
  /** Hands over the messages to this instance and to all that are sent from now on, in order, until `close`. Called once. */
  receive(instance: string, take: (message: Buffer) => void): Promise<void>
  readonly isAway: boolean
  /** Of the commands that were answered; absent where they take no time. */
  readonly latency?: { readonly count: number; readonly sumMs: number }
  /** Is called whenever `isAway` has changed; `cause` says why it is away, where that is known. */
  onChange: (cause?: unknown) => void
  close(): Promise<void>
}

/** The name under which every instance gets messages. */
export const ALL = 'all'
