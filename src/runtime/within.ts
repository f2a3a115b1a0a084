import { type Clock, setDeadline } from './deadline.js'

/** What `promise` resolves to, or undefined when that takes longer than `waitMs`. */
export async function within<T>(promise: Promise<T>, waitMs: number, clock: Clock): Promise<T | undefined> {
  let timer: { cancel(): void } | undefined
  const late = new Promise<undefined>((resolve) => {
    timer = setDeadline(clock, waitMs, () => resolve(undefined))
  })
  try {
    return await Promise.race([promise, late])
  } finally {
    timer?.cancel()
  }
}
