// The program of a scripted server, by what it speaks.

import type { Body } from './body.js'
import type { Brain } from './brain.js'
import type { Around } from './byte-flow.js'
import { HandshakeBrain } from './handshake-brain.js'
import { rawId } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { StatelessBrain } from './stateless-brain.js'
import { changed } from './wrong.js'

export function brainOf(body: Body, facts: ServerFacts, ledger: Ledger, { wrong }: Around): Brain {
  const brain =
    facts.plan.isStateless === true
      ? new StatelessBrain(body, facts, ledger)
      : new HandshakeBrain(body, facts, ledger)
  const { toServer } = wrong
  if (toServer === undefined) return brain
  const pass = (text: string, delayMs?: number): void => {
    if (delayMs === undefined) brain.receive(text)
    else body.after(delayMs, () => brain.receive(text))
  }
  const reply = (text: string): void => void body.say(text, rawId(text))
  return changed<Brain>(brain, { receive: (text) => toServer(text, { to: body.name, pass, reply }) })
}
