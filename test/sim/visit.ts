// Single requests in the sessions of others, and in those that have ended.

import type { SimClient } from './client.js'
import { HttpLines } from './http-lines.js'
import { requestText } from './http-request.js'
import type { ClientPlan } from './plan.js'
import type { World } from './world.js'

interface Visit {
  readonly plan: ClientPlan
  readonly session: string
  /** The balancer chooses where none is given. */
  readonly label?: string
}

/** Sends a request in the session, and hands over the status of its response. */
export function visit(
  world: World,
  { plan, session, label }: Visit,
  onStatus: (status: number) => void,
): void {
  const { http } = plan
  if (http === undefined) return
  const { front, dice, clock } = world.host
  const name = `visitor ${label} ${session.slice(-8)} ${clock.now}`
  const lines = new HttpLines(
    (script) => front.connect(name, plan, script, label),
    () => {},
  )
  const body = '{"jsonrpc":"2.0","id":"visit","method":"ping"}'
  const request = { method: 'POST', session, revision: plan.revision, body } as const
  lines.ask(requestText(request, http, dice(name)), {
    arrived: () => {},
    answering: () => {},
    head: ({ status }) => {
      onStatus(status)
      lines.leave('close')
    },
    body: () => {},
    whole: () => {},
    gone: () => {},
  })
}

/** A client sends a request in the session of another one, which must not be served. */
export function steal(world: World, thief: SimClient, owner: SimClient | undefined): void {
  const session = owner?.session
  const [own, other] = [thief.plan.http, owner?.plan.http]
  if (owner === undefined || session === undefined || own?.token === other?.token) return
  const plan = world.host.wrong.trustsIds === true ? owner.plan : thief.plan
  visit(world, { plan, session }, (status) => {
    if (status < 300)
      world.host.ledger.fail('stolen-session', `${thief.name} was served in the session of ${owner.name}`)
  })
}
