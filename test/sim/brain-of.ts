// The program of a scripted server, by what it speaks.

import type { Body } from './body.js'
import type { Brain } from './brain.js'
import { HandshakeBrain } from './handshake-brain.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { StatelessBrain } from './stateless-brain.js'

export function brainOf(body: Body, facts: ServerFacts, ledger: Ledger): Brain {
  return facts.plan.isStateless === true
    ? new StatelessBrain(body, facts, ledger)
    : new HandshakeBrain(body, facts, ledger)
}
