import type { Runtime, Timer } from './host.js'

/** What `promise` resolves to, or undefined when that takes longer than `waitMs`. */
export async function within<T>(
  promise: Promise<T>,
  waitMs: number,
  runtime: Pick<Runtime, 'setTimer'>,
): Promise<T | undefined> {
  let timer: Timer | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = runtime.setTimer(waitMs, () => resolve(undefined))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    timer?.cancel()
  }
}
