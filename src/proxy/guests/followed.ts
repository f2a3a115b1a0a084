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

export interface FollowedParts {
  readonly client: ClientPort
  readonly route: (call: Call) => void
  readonly now: () => number
  /** How many it may follow. */
  readonly urisMax: number
}

/** Of what is asked at once: other clients want to be served by the same servers. */
const ASKED_MAX = 32

/** Follows each resource while somebody wants it. */
export class FollowedResources {
  readonly #parts: FollowedParts
  readonly #followed = new Map<string, Followed>()
  /** By their URIs, those about which something is to be asked once something else is answered, and whether it still is. */
  readonly #waiting = new Map<string, (isWanted: boolean) => void>()
  #asking = 0
  #asked = 0

  constructor(parts: FollowedParts) {
    this.#parts = parts
  }

  /** How many more it may follow. */
  get room(): number {
    return this.#parts.urisMax - this.#followed.size
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
    this.#drop(uri)
    void known.granted.then((isGranted) => {
      // Somebody may want it again meanwhile.
      if (isGranted && !this.#followed.has(uri)) void this.#ask('resources/unsubscribe', uri)
    })
  }

  async #ask(method: string, uri: string): Promise<boolean> {
    if (this.#asking < ASKED_MAX) this.#asking++
    else if (!(await this.#turn(uri))) return false
    const isGranted = await this.#answer(method, uri)
    const [next] = this.#waiting
    if (next === undefined) this.#asking--
    else {
      const [waiting, begin] = next
      this.#waiting.delete(waiting)
      begin(true)
    }
    return isGranted
  }

  /** Resolves with whether it is still to be asked, in the place of something that is answered. */
  #turn(uri: string): Promise<boolean> {
    this.#drop(uri)
    return new Promise((resolve) => this.#waiting.set(uri, resolve))
  }

  #drop(uri: string): void {
    this.#waiting.get(uri)?.(false)
    this.#waiting.delete(uri)
  }

  #answer(method: string, uri: string): Promise<boolean> {
    const frame = readFrame(buildRequest(numericId(++this.#asked), method, `{"uri":${quote(uri)}}`))
    const row = requests.row(method)
    if (frame.kind !== 'request' || row === undefined) throw fault('a request of our own is one')
    return new Promise((resolve) => {
      const owner = { settled: (_call: Call, outcome: Outcome) => resolve(isGranted(outcome)) }
      const context = { revision: latestHandshake, capabilities: noCapabilities }
      const { client, route, now } = this.#parts
      route(new Call(frame, row, client, new CallDeadline(now()), owner, context))
    })
  }
}

function isGranted(outcome: Outcome): boolean {
  return outcome.kind === 'result' || (outcome.kind === 'answered' && outcome.frame.kind === 'result')
}
