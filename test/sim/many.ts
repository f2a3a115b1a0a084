// Many seeds on several threads.

import { Worker } from 'node:worker_threads'
import type { RunKind } from './draw-kind.js'
import type { Failure } from './ledger.js'

/** What one run leaves behind is gone with it: the more of them fit in, the less there is to be copied. */
const YOUNG_MB = 128

/** A part of the work, as it is given to a thread. */
export interface Share {
  readonly from: number
  readonly seeds: number
  /** Of so many seeds each thread takes one. */
  readonly step: number
  readonly ops: number
  /** Every seed is run again, and has to give the same trace. */
  readonly twice: boolean
  readonly kind: RunKind
}

/** What a thread tells. */
export type Told =
  | { readonly kind: 'done'; readonly runs: number; readonly requests: number; readonly events: number }
  | { readonly kind: 'differs'; readonly seed: number }
  | { readonly kind: 'failed'; readonly seed: number; readonly failures: readonly Failure[] }

/** Runs seeds on threads until all are done; `told` hears of each message. */
export async function runMany(share: Share, told: (message: Told) => void): Promise<void> {
  const threads = Array.from({ length: share.step }, (_, at) =>
    runOne({ ...share, from: share.from + at }, told),
  )
  await Promise.all(threads)
}

function runOne(share: Share, told: (message: Told) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: share,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
    })
    worker.on('message', told)
    worker.on('error', reject)
    worker.on('exit', (code) => (code === 0 ? resolve() : reject(new Error(`a thread ended with ${code}`))))
  })
}
