// The program of a scripted server, by what it speaks.

import type { ScriptHost } from './script-host.js'
import type { ServerScript } from './server-script.js'
import type { SimContext } from './byte-flow.js'
import { HandshakeScript } from './handshake-script.js'
import { rawId } from './json.js'
import type { Ledger } from './ledger.js'
import type { ServerFacts } from './server-facts.js'
import { StatelessScript } from './stateless-script.js'
import { changed } from './wrong.js'

export function scriptOf(
  host: ScriptHost,
  facts: ServerFacts,
  ledger: Ledger,
  { wrong }: SimContext,
): ServerScript {
  const script =
    facts.plan.isStateless === true
      ? new StatelessScript(host, facts, ledger)
      : new HandshakeScript(host, facts, ledger)
  const { toServer } = wrong
  if (toServer === undefined) return script
  const pass = (text: string, delayMs?: number): void => {
    if (delayMs === undefined) script.receive(text)
    else host.after(delayMs, () => script.receive(text))
  }
  const reply = (text: string): void => void host.say(text, rawId(text))
  return changed<ServerScript>(script, { receive: (text) => toServer(text, { to: host.name, pass, reply }) })
}
