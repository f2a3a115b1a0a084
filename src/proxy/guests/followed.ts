// The resources that one client follows, whatever it asked that for.
//
// A server is told once of each. It is asked as a client with a session asks, so that what is done for those
// (restarts, reloads, servers that are asked in turn) is done here too.

import { fault } from '../../jsonrpc/errors.js'
import { buildRequest } from '../../jsonrpc/build.js'
import { readFrame } from '../../jsonrpc/frame.js'
import { numericId } from '../../jsonrpc/request-id.js'
import { quote } from '../../jsonrpc/text.js'
import { Call, type ClientPort, type Outcome } from '../../mcp/call.js'
import { CallDeadline } from '../../mcp/call-deadline.js'
import { noCapabilities } from '../../mcp/capabilities.js'
import { requests } from '../../mcp/methods.js'
import { latestHandshake } from '../../mcp/revisions.js'

/** One of them, with the number of those that want it. */
interface Followed {
  wanted: number
  readonly granted: Promise<boolean>
}

/** Follows each resource while somebody wants it. */
export class FollowedResources {
  readonly #client: ClientPort
  readonly #route: (call: Call) => void
  readonly #now: () => number
  readonly #followed = new Map<string, Followed>()
  #asked = 0

  constructor(client: ClientPort, route: (call: Call) => void, now: () => number) {
    this.#client = client
    this.#route = route
    this.#now = now
  }

  /** Resolves with whether a server tells of it; each call wants one `leave`. */
  follow(uri: string): Promise<boolean> {
    const known = this.#followed.get(uri)
    if (known !== undefined) {
      known.wanted++
      return known.granted
    }
    const granted = this.#ask('resources/subscribe', uri)
    this.#followed.set(uri, { wanted: 1, granted })
    return granted
  }

  leave(uri: string): void {
    const known = this.#followed.get(uri)
    if (known === undefined || --known.wanted > 0) return
    this.#followed.delete(uri)
    void known.granted.then((isGranted) => {
      // Somebody may want it again meanwhile.
      if (isGranted && !this.#followed.has(uri)) void this.#ask('resources/unsubscribe', uri)
    })
  }

  #ask(method: string, uri: string): Promise<boolean> {
    const frame = readFrame(buildRequest(numericId(++this.#asked), method, `{"uri":${quote(uri)}}`))
    const row = requests.row(method)
    if (frame.kind !== 'request' || row === undefined) throw fault('a request of our own is one')
    return new Promise((resolve) => {
      const owner = { settled: (_call: Call, outcome: Outcome) => resolve(isGranted(outcome)) }
      const context = { revision: latestHandshake, capabilities: noCapabilities }
      this.#route(new Call(frame, row, this.#client, new CallDeadline(this.#now()), owner, context))
    })
  }
}

function isGranted(outcome: Outcome): boolean {
  return outcome.kind === 'result' || (outcome.kind === 'answered' && outcome.frame.kind === 'result')
}
