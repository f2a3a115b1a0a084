// The addresses of a name, from the servers of the DNS that this host asks.
//
// Names are asked for as they are: without the domains that a host may add to them, and without its own file of
// names. Nothing waits in the threads of Node, which read files too.

import { Resolver } from 'node:dns/promises'
import type { Resolve } from '../../runtime/runtime.js'

/** Of one question to one server, and how often it is asked. */
const QUESTION = { timeout: 2000, tries: 2 } as const

/** Those of IPv4 first, which more networks pass on; rejects when there are none. */
export const resolveName: Resolve = async (name, signal) => {
  // One of its own: it knows the servers of now, and can be given up alone.
  const resolver = new Resolver(QUESTION)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0) throw failureOf(answers)
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function failureOf(answers: readonly PromiseSettledResult<unknown>[]): Error {
  const [first] = answers.flatMap((answer): unknown[] =>
    answer.status === 'rejected' ? [answer.reason] : [],
  )
  return first instanceof Error ? first : new Error('the name has no address')
}
