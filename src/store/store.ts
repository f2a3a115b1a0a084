// The interface to the store that several instances of a front share.

/** The number of tokens that a bucket gets in a minute, and the most tokens that the bucket holds. */
export interface Bucket {
  readonly perMinute: number
  readonly burst: number
}

export interface TakenTokens {
  readonly taken: number
  /** The milliseconds until the next token; 0 if one is left. */
  readonly waitMs: number
}

/** The store is away, or has not answered in time. The store may have run the command nevertheless. */
export class StoreAway extends Error {
  constructor(cause?: unknown) {
    super(cause instanceof Error ? `cannot be used: ${cause.message}` : 'cannot be reached', { cause })
  }
}

/** Keys and values are short, and every entry has an expiry. If the store is away, promises reject with StoreAway. */
export interface Store {
  get(key: string): Promise<Buffer | undefined>
  put(key: string, value: Buffer, ttlMs: number): Promise<void>
  /** Writes the entry only if the key is free, and returns whether it was free. */
  add(key: string, value: Buffer, ttlMs: number): Promise<boolean>
  delete(key: string): Promise<void>
  /** Takes up to `want` tokens. */
  take(key: string, bucket: Bucket, want: number): Promise<TakenTokens>
  /** Sends a message to one instance, or to `ALL`. The sender also receives its messages to `ALL`. */
  send(to: string, message: Buffer): Promise<void>
  /** Calls `take` for each later message to this instance or to `ALL`, in order, until `close`. Called once. */
  receive(instance: string, take: (message: Buffer) => void): Promise<void>
  readonly isAway: boolean
  /** The number and the total time of answered commands; absent if commands take no time. */
  readonly latency?: { readonly count: number; readonly sumMs: number }
  /** Called whenever `isAway` has changed. `cause` says why the store is away, if known. */
  onChange: (cause?: unknown) => void
  close(): Promise<void>
}

/** The receiver of messages to all instances. */
export const ALL = 'all'
