// Allocates young garbage in proportion to the bytes read, so that V8 scavenges early instead of running a full collection for
// memory outside the heap.
//
// Node reads into memory outside the heap, and makes one small object for each read. Long messages thus bring much
// memory and few objects: the space of young objects fills slowly, and before its collection comes, what lies outside
// has started one of the whole heap. That was up to half of the processor time of messages of 50 KB to 5 MB
// (`npm run bench -- results-1mb`). With a young object for each long read, a quarter as long, the cheap one comes first.

/** Young memory for each byte that was read. With an eighth the large collections come back; more only costs more. */
const SHARE = 1 / 4
const ELEMENT_BYTES = 8

/** The copied bytes: a quarter of the longest read of Node, which is 64 KiB. */
const pattern: readonly number[] = Array.from({ length: 2048 }, () => 0)

/** The work on a shorter read makes as many young objects without this. */
export const LONG_READ_BYTES: number = 4 * 1024

/** Called for each long read of a stream; the object that it makes is garbage immediately. */
export function allocateGcBallast(bytes: number): void {
  pattern.slice(0, (bytes * SHARE) / ELEMENT_BYTES)
}
