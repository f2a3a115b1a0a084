// Has the engine free the buffers of what was read by its cheap collection instead of by that of the whole heap.
//
// Node reads into memory outside the heap, and makes one small object for each read. Long messages thus bring much
// memory and few objects: the space of young objects fills slowly, and before its collection comes, what lies outside
// has started one of the whole heap. That was up to half of the processor time of messages of 50 KB to 5 MB
// (`npm run bench -- results-1mb`). With a young object for each long read, a quarter as long, the cheap one comes first.

/** Young memory for each byte that was read. With an eighth the large collections come back; more only costs more. */
const SHARE = 1 / 4
const ELEMENT_BYTES = 8

/** What is copied: a quarter of the longest read of Node, which is 64 KiB. */
const pattern: readonly number[] = Array.from({ length: 2048 }, () => 0)

/** Who works on a shorter read makes as many young objects without this. */
export const LONG_READ_BYTES: number = 4 * 1024

/** To be told of each long read of a stream. Makes the object, which nobody keeps. */
export function hasRead(bytes: number): void {
  pattern.slice(0, (bytes * SHARE) / ELEMENT_BYTES)
}

/** So much may be on its way at once: what is read beyond it, while nothing is freed, is left to the collector. */
const UNFREED_BYTES_MAX = 64 * 1024 * 1024

/** Memory that one stream is read into, where nobody else has it: it can be freed without the collector. */
export class ReadMemory {
  /** Takes over what it is sent, and drops it: its other end is closed. */
  #drain: { postMessage(message: undefined, transfer: ArrayBuffer[]): void } | undefined
  /** What was kept since something was freed. */
  #unfreed = 0

  /** To be told of each read that is to be freed; of any other `hasRead` is. */
  keeps(bytes: number): void {
    this.#unfreed += bytes
    if (this.#unfreed > UNFREED_BYTES_MAX) hasRead(bytes)
  }

  /** Frees it; whatever refers to it is empty from now on. */
  free(buffers: ArrayBuffer[]): void {
    this.#unfreed = 0
    this.#drain ??= closedPort()
    this.#drain.postMessage(undefined, buffers)
  }
}

function closedPort() {
  const { port1, port2 } = new MessageChannel()
  port1.close()
  return port2
}
