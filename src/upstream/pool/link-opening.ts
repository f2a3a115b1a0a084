// How a link begins: what its leg says to the server until calls may be sent.

import type { RequestFrame, ResponseFrame } from '../../jsonrpc/frame.js'
import type { Edit } from '../../jsonrpc/splice.js'
import type { Call } from '../../mcp/call.js'
import type { ClientCapabilities } from '../../mcp/capabilities.js'
import type { OpenedServer, Probed, ServerLeg } from '../../mcp/eras/leg.js'
import type { Dialed } from '../contracts/dial.js'
import { unusable } from '../contracts/errors.js'
import type { Ending } from './ending.js'
import type { OwnRequests } from './own-requests.js'
import type { ServerParts } from './pool-parts.js'
import { probe } from './probe.js'

/** What the opening of a link is made of. */
export interface LinkOpeningParts {
  readonly parts: ServerParts
  readonly dialed: Dialed
  readonly leg: ServerLeg
  readonly own: OwnRequests
  readonly ending: Ending
  readonly peer: { notify(method: string): void }
}

/** Opens one link. */
export class LinkOpening {
  readonly #link: LinkOpeningParts
  #isProbing = false

  constructor(link: LinkOpeningParts) {
    this.#link = link
  }

  /** The server has ended by itself on the question which revisions it speaks: it is to be started anew, and not asked. */
  get endedOnProbe(): boolean {
    return this.#isProbing && this.#link.dialed.pid !== undefined && this.#link.ending.isEnded
  }

  /** With the client's own request where that is to reach the server. @throws UpstreamError */
  async open(declared: ClientCapabilities, opening?: Call): Promise<OpenedServer> {
    const { parts, leg, own, ending, peer } = this.#link
    const patience = own.patience('startTimeoutMs')
    const voice = {
      ask: (method: string, params: string) => own.ask(method, params, patience),
      probe: (method: string, params: string) => this.#probe(own.ask(method, params, patience)),
      pass: (frame: RequestFrame, edits: readonly Edit[]) => own.pass(frame, edits, patience),
      notify: (method: string) => peer.notify(method),
    }
    const opened = await leg.open(voice, declared, opening)
    switch (opened.kind) {
      case 'opened':
        return opened
      case 'refused':
        throw unusable(parts, opened.why)
      case 'ended':
        throw ending.failure
    }
  }

  async #probe(asked: Promise<ResponseFrame>): Promise<Probed> {
    const { probeMs, runtime } = this.#link.parts
    this.#isProbing = true
    const probed = await probe(asked, probeMs, runtime, () => this.endedOnProbe)
    this.#isProbing = probed.kind === 'ended'
    return probed
  }
}
