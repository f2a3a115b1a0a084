import { after } from 'node:test'

/** A test or a suite, with callbacks for its end. */
export interface Scope {
  after(run: () => void | Promise<void>): void
}

/** The callbacks run after the tests of a suite, the latest first. */
export function suiteScope(): Scope {
  const ends: (() => void | Promise<void>)[] = []
  after(async () => {
    for (const end of ends.toReversed()) await end()
  })
  return { after: (run) => void ends.push(run) }
}
