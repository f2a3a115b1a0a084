import type { Scope } from '../../integration/support/spawned.js'

/** What begins before all tests of a suite and ends after them. */
export function suiteScope(): { scope: Scope; end: () => Promise<void> } {
  const ends: (() => void | Promise<void>)[] = []
  const end = async (): Promise<void> => {
    for (const each of ends.splice(0).toReversed()) await each()
  }
  return { scope: { after: (run) => void ends.push(run) }, end }
}
