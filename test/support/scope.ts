import { after } from 'node:test'

/** What ends with a test, or with a suite. */
export interface Scope {
  after(run: () => void | Promise<void>): void
}

/** What a suite begins before its tests ends after them, the latest first. */
export function suiteScope(): Scope {
  const ends: (() => void | Promise<void>)[] = []
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return { after: (run) => void ends.push(run) }
}
