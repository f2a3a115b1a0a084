// The interface to the other instances of a front, for requests that only one of them can serve.

/** A channel to another instance, for bytes in order. Each side ends its own direction, and either cuts both. */
export interface PeerChannel {
  /** Written bytes that are not sent yet, because the other instance reads more slowly. */
  readonly unsentBytes: number
  write(pieces: readonly Uint8Array[]): void
  end(): void
  cut(): void
  /** This many received bytes are no longer in memory, so the other instance may send more. */
  onConsumed(bytes: number): void
}

/** Receives the bytes of a channel. `gone` is called at most once, as the last event, and never after `cut`. */
export interface PeerSink {
  data(bytes: Buffer): void
  end(): void
  /** The other instance has cut the channel, has not accepted it in time, or has ended. */
  gone(): void
  /** All written bytes are sent. */
  drained(): void
}

export interface PeerHandlers {
  readonly opened: (channel: PeerChannel) => PeerSink
  /** Another instance has sent a message to all. */
  readonly onMessage: (bytes: Buffer) => void
}

export interface Peers {
  /** The name of this instance. */
  readonly label: string
  /** Whether no message can be sent now. */
  readonly isAway: boolean
  /** Returns undefined if no instance with this name runs. Rejects while no message can be sent. */
  open(label: string, sink: PeerSink): Promise<PeerChannel | undefined>
  /** Sends a short message to all other instances, later if none can be sent now. */
  broadcast(bytes: Buffer): void
  /** Registers this instance as the holder of `name`, which others find with `holderOf`. */
  claim(name: string): void
  /** Returns the instance that holds `name`. Rejects while the store is unreachable. */
  holderOf(name: string): Promise<string | undefined>
  /** Called once. */
  serve(handlers: PeerHandlers): void
}
