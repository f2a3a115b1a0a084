// The end of a session, told to the server (MCP, Transports: session management).

import { discard } from './body.js'
import type { HttpSession } from './session.js'

/** Resolves when the server has heard it, or has taken too long; a server may not care (405). */
export function deleteSession(session: HttpSession): Promise<void> {
  const { timers, limits } = session.target
  if (session.id === undefined) return Promise.resolve()
  return new Promise((resolve) => {
    const ask = { method: 'DELETE', url: session.url, accept: '*/*' } as const
    const exchange = session.ask(ask, {
      responded: (answer) => {
        timer.cancel()
        discard(answer, limits.excerptBytesMax)
        resolve()
      },
      troubled: () => {
        timer.cancel()
        resolve()
      },
    })
    const timer = timers.setTimer(limits.closeMs, () => {
      exchange.cancel()
      resolve()
    })
  })
}
