import type { Runtime } from './host.js'

/** What `promise` resolves to, or undefined when that takes longer than `waitMs`. */
export async function within<T>(
  promise: Promise<T>,
  waitMs: number,
  runtime: Pick<Runtime, 'setTimer'>,
): Promise<T | undefined> {
  let stopWaiting = (): void => {}
  const late = new Promise<undefined>((resolve) => {
    const timer = runtime.setTimer(waitMs, () => resolve(undefined))
    stopWaiting = () => timer.cancel()
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    stopWaiting()
  }
}
