// Clients whose requests say by themselves what they are, as a session sees them.

import type { Call, ClientPort, InputNeeded, Outcome, StatelessContext } from '../../mcp/call.js'
import type { SubscriptionFilter } from '../../mcp/subscriptions.js'
import type { ServerDescription } from '../../mcp/eras/leg.js'

/** All requests of one principal that can be asked the same. */
export interface StatelessClient extends ClientPort {
  /** It has made room for another one, or its principal has gone: who comes back is another client. */
  readonly hasLeft: boolean
  /** Takes over a call of its own. */
  route(call: Call): void
  /** Takes over a request that stays open, by which the client hears of changes. */
  listen(call: Call, filter: SubscriptionFilter): void
  /** The server of its call wants to know more before it goes on. */
  needsInput(call: Call, needed: InputNeeded): void
  /** A call that it has taken over is settled. */
  ended(call: Call): void
}

/** A client as events and the status count it. */
export interface Sender {
  /** It has sent nothing for long: what it sends next is of another client. */
  readonly hasLeft: boolean
  /** It has sent a request. */
  begun(context: StatelessContext): void
  settled(call: Call, outcome: Outcome): void
}

/** Those there are. */
export interface GuestList {
  /** Whose a request with this context is; undefined when there are too many. */
  of(context: StatelessContext): StatelessClient | undefined
  /** The client that sends this, for events and the status. */
  sender(context: StatelessContext): Sender
  /** What is behind the proxy, without anything being started for it. */
  describe(): ServerDescription
  /** No request of this principal will come any more. */
  left(principal: string): void
}
