// Servers that a command tries: some at the same time, since more would only slow each other down.

/** Servers that are tried at the same time, unless a command says otherwise. */
export const TRIALS_AT_ONCE_MAX = 4

/** Works through all items, so many at the same time, in their order. */
export async function eachAtOnce<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const waiting = items.values()
  const workThrough = async (): Promise<void> => {
    for (const item of waiting) await work(item)
  }
  await Promise.all(Array.from({ length: atOnce }, workThrough))
}
