// Writing to a descriptor before going on, whoever reads.

import { Buffer } from 'node:buffer'
import { writeSync } from 'node:fs'

/** Who reads may be slow, or gone. */
export function writeFully(descriptor: number, chunk: string | Uint8Array): void {
  const bytes = Buffer.from(chunk)
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at)
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'EAGAIN')) return
      rest(1)
    }
  }
}

/** Nothing else happens in this process meanwhile. */
function rest(delayMs: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)), 0, 0, delayMs)
}
