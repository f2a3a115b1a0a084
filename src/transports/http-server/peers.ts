// The interface to the other instances of a front, for requests that only one of them can serve.

/** A way to another instance and back, for bytes in order. Each side ends its own direction, and either cuts both. */
export interface PeerChannel {
  /** Bytes that were written and have not left yet, since the other instance takes them more slowly. */
  readonly unsentBytes: number
  write(pieces: readonly Uint8Array[]): void
  end(): void
  cut(): void
  /** So many bytes that came are not in memory any more, and others may come. */
  took(bytes: number): void
}

/** What comes on a channel. `gone` is called once at most, and nothing after it, nor after `cut`. */
export interface PeerSink {
  data(bytes: Buffer): void
  end(): void
  /** The other instance has cut the channel, has not taken it in time, or has ended. */
  gone(): void
  /** All that was written has left. */
  drained(): void
}

export interface PeerHandlers {
  /** Another instance has opened a channel. */
  readonly opened: (channel: PeerChannel) => PeerSink
  /** Another instance has told all others something. */
  readonly onMessage: (bytes: Buffer) => void
}

export interface Peers {
  /** The name of this instance. */
  readonly label: string
  /** Whether nothing can be sent now. */
  readonly isAway: boolean
  /** Undefined where no instance of this name runs. Rejects while nothing can be sent. */
  open(label: string, sink: PeerSink): Promise<PeerChannel | undefined>
  /** Sends a short message to all other instances, later where nothing can be sent now. */
  tellAll(bytes: Buffer): void
  /** Says under this name that this instance has something, which the others ask for with `holderOf`. */
  claim(name: string): void
  /** The instance that has it. Rejects while the store cannot be asked. */
  holderOf(name: string): Promise<string | undefined>
  /** Called once. */
  serve(handlers: PeerHandlers): void
}
