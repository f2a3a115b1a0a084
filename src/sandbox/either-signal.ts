// What ends when one of two things does.

/**
 * Works until it is done, or one of both is aborted.
 *
 * `AbortSignal.any` would leave something of every call with the signal that lives longer.
 */
export async function withEither<T>(
  one: AbortSignal,
  other: AbortSignal,
  use: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const either = new AbortController()
  const abort = (): void => either.abort()
  const signals = [one, other]
  for (const signal of signals) signal.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  try {
    return await use(either.signal)
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', abort)
  }
}
