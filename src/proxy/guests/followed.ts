// The resources, or the tasks, that one client follows, whatever it asked that for.
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
import type { Followable } from '../../mcp/methods.js'
import type { RequestRow } from '../../mcp/methods/method-row.js'
import { latestHandshake } from '../../mcp/revisions.js'

/** One of them, with the number of those that want it. */
interface Followed {
  wanted: number
  readonly granted: Promise<boolean>
}

export interface FollowedParts {
  readonly what: Followable
  readonly client: ClientPort
  readonly route: (call: Call) => void
  readonly now: () => number
  /** How many it may follow. */
  readonly followedMax: number
}

/** Of what is asked at once: other clients want to be served by the same servers. */
const ASKED_MAX = 32

/** Follows each of them while somebody wants it. */
export class FollowedThings {
  readonly #parts: FollowedParts
  readonly #followed = new Map<string, Followed>()
  /** By their names, those about which something is to be asked once something else is answered, and whether it still is. */
  readonly #waiting = new Map<string, (isWanted: boolean) => void>()
  #asking = 0
  #asked = 0

  constructor(parts: FollowedParts) {
    this.#parts = parts
  }

  /** How many more it may follow. */
  get room(): number {
    return this.#parts.followedMax - this.#followed.size
  }

  /** Resolves with whether a server tells of it; each call wants one `leave`. */
  follow(name: string): Promise<boolean> {
    const known = this.#followed.get(name)
    if (known !== undefined) {
      known.wanted++
      return known.granted
    }
    const granted = this.#ask(this.#parts.what.begins, name)
    this.#followed.set(name, { wanted: 1, granted })
    return granted
  }

  leave(name: string): void {
    const known = this.#followed.get(name)
    if (known === undefined || --known.wanted > 0) return
    this.#followed.delete(name)
    this.#drop(name)
    void known.granted.then((isGranted) => {
      // Somebody may want it again meanwhile.
      if (isGranted && !this.#followed.has(name)) void this.#ask(this.#parts.what.ends, name)
    })
  }

  async #ask(row: RequestRow, name: string): Promise<boolean> {
    if (this.#asking < ASKED_MAX) this.#asking++
    else if (!(await this.#turn(name))) return false
    const isGranted = await this.#answer(row, name)
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
  #turn(name: string): Promise<boolean> {
    this.#drop(name)
    return new Promise((resolve) => this.#waiting.set(name, resolve))
  }

  #drop(name: string): void {
    this.#waiting.get(name)?.(false)
    this.#waiting.delete(name)
  }

  #answer(row: RequestRow, name: string): Promise<boolean> {
    const params = `{${quote(this.#parts.what.member)}:${quote(name)}}`
    const frame = readFrame(buildRequest(numericId(++this.#asked), row.method, params))
    if (frame.kind !== 'request') throw fault('a request of our own is one')
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
