// Captures messages for the page of the inspector, and serves the viewers of the page.
//
// The tap is on while a page is open and for half a minute afterwards. Then the inspector frees the memory, unless
// the configuration asks for a history.

import type { Buffer } from 'node:buffer'
import type { TapSwitch } from '../jsonrpc/wire-tap.js'
import type { Runtime, Timer } from '../runtime/runtime.js'
import { Capture } from './capture.js'
import { BATCH_MS, OLDER_BATCH_MS, Viewer, type ViewerStream } from './feed.js'
import { frameView } from './frame-view.js'
import type { FrameView } from './protocol.js'
import { type FrameRanges, type RecordingInvocation, recordingOf } from './recording.js'
import { MessageRedactor } from './redaction.js'
import { Ring, defaultRingLimits } from './ring.js'
import { Status } from './status.js'

/** Each viewer needs memory and time of the event loop. */
export const VIEWERS_MAX = 4

/** How long the memory outlives the last viewer, so that a page that is loaded again shows the same frames. */
const LINGER_MS = 30_000

export interface InspectorOptions {
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer' | 'memoryOf'>
  readonly redacts: boolean
  /** The command line of the proxy without secrets, for recordings. */
  readonly invocation: RecordingInvocation
  /** The size of the memory for frames from the start on; undefined keeps frames only while a page is open. */
  readonly historyBytes?: number | undefined
}

export class Inspector {
  readonly redactor: MessageRedactor
  readonly ring: Ring
  readonly status: Status
  /** The proxy calls this before the first connection, with the switch of its tap. */
  readonly tapSwitch = (taps: TapSwitch): void => {
    this.#taps = taps
    if (this.#options.historyBytes !== undefined) taps.on(this.#capture)
  }
  readonly #options: InspectorOptions
  readonly #capture: Capture
  readonly #viewers = new Set<Viewer>()
  #taps: TapSwitch | undefined
  #isClosed = false
  #timer: Timer | undefined

  constructor(options: InspectorOptions) {
    const { runtime, redacts, historyBytes = defaultRingLimits.bytesMax } = options
    this.#options = options
    this.redactor = new MessageRedactor(redacts)
    this.ring = new Ring({ ...defaultRingLimits, bytesMax: historyBytes })
    this.status = new Status(runtime, this.redactor, this.ring)
    this.#capture = new Capture(this.ring)
  }

  /** Whether no further feed may be opened. */
  get isFull(): boolean {
    return this.#isClosed || this.#viewers.size >= VIEWERS_MAX
  }

  /** Opens a feed, and returns the function that ends it. */
  view(stream: ViewerStream): () => void {
    const viewer = new Viewer(this.ring, this.redactor, stream)
    this.#viewers.add(viewer)
    this.#taps?.on(this.#capture)
    this.#tick()
    return () => {
      if (!this.#viewers.delete(viewer) || this.#viewers.size > 0) return
      this.#wait(LINGER_MS, () => this.#switchOff())
    }
  }

  frame(n: number): FrameView | undefined {
    const frame = this.ring.get(n)
    return frame && frameView(frame, this.ring, this.redactor)
  }

  recording(ranges: FrameRanges): Promise<Buffer[]> {
    const at = new Date(this.#options.runtime.wallNow())
    return recordingOf(this.ring, ranges, this.redactor, { ...this.#options.invocation, at })
  }

  /** Ends every feed, because an open feed would delay the end of its front, and refuses new ones. */
  close(): void {
    this.#isClosed = true
    for (const viewer of this.#viewers) viewer.end()
    this.#viewers.clear()
    this.#timer?.cancel()
    this.#taps?.off()
  }

  /** Sends a batch to each viewer, and repeats this after a delay. */
  #tick(): void {
    for (const viewer of this.#viewers) viewer.send(() => this.#options.runtime.now())
    const hasOlder = [...this.#viewers].some((viewer) => viewer.hasOlder)
    this.#wait(hasOlder ? OLDER_BATCH_MS : BATCH_MS, () => this.#tick())
  }

  #switchOff(): void {
    if (this.#options.historyBytes !== undefined) return
    this.#taps?.off()
    this.#capture.clear()
    this.ring.clear()
  }

  #wait(delayMs: number, next: () => void): void {
    this.#timer?.cancel()
    this.#timer = this.#options.runtime.setTimer(delayMs, next)
  }
}
