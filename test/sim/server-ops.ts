// The operations of a run that concern one server.

import type { ServerScript } from './server-script.js'
import { GRACE_MS, OWN_MS } from './configuration.js'
import type { Op } from './plan.js'
import type { SimServer } from './server.js'
import type { World } from './world.js'

type ServerOp = Exclude<Extract<Op, { readonly server: number }>, { readonly client: number }>

export function performOnServer(world: World, op: ServerOp, number: number): void {
  const server = world.host.servers[op.server]
  if (server === undefined) return
  switch (op.kind) {
    case 'changed':
      return grow(world, server)
    case 'updated':
      for (const script of server.scripts) script.updated()
      return
    case 'log':
      for (const script of server.scripts) script.log()
      return
    case 'fault':
      if (server.facts.plan.faulty) strike(world, server, op, number)
      return
    case 'reload':
      return reload(world, server, op.how)
    case 'unlisted':
      if (server.facts.plan.faulty) unlisted(world, server, op, number)
  }
}

/** A server that has no way to say so keeps the tools that it has. */
export function grow(world: World, server: SimServer): void {
  const { kind, standalone, faulty } = server.facts.plan
  if (kind === 'http' && (!standalone || faulty)) return
  server.facts.grow(world.host.clock.now)
  for (const script of server.scripts) tellChange(world, script, 20)
}

/** A server that has a way, which is not open now, says it when it is. */
function tellChange(world: World, script: ServerScript, tries: number): void {
  if (tries === 0 || script.listChanged('tools')) return
  world.host.clock.after(500, () => tellChange(world, script, tries - 1))
}

type Fault = Extract<Op, { readonly kind: 'fault' }>

function strike(world: World, server: SimServer, { fault, seconds }: Fault, number: number): void {
  const { host } = world
  if (fault === 'enospc') host.diskFull = true
  server.strike(fault, host.dice(`fault ${number}`))
  host.clock.after(seconds * 1000, () => {
    host.diskFull = false
    server.mend()
  })
}

/** It comes back and cannot say for a while what it has. */
function unlisted(
  world: World,
  server: SimServer,
  { seconds }: Extract<Op, { readonly kind: 'unlisted' }>,
  number: number,
): void {
  server.facts.refusesLists = true
  const fault = server.facts.plan.kind === 'http' ? 'http-404' : 'kill-9'
  strike(world, server, { gapMs: 0, kind: 'fault', server: 0, fault, seconds }, number)
}

/** What a server that is started anew was at ends with one error, if it must. */
function reload(world: World, server: SimServer, how: Extract<Op, { readonly kind: 'reload' }>['how']): void {
  const { name } = server.facts.plan
  world.host.ledger.reloaded(name)
  for (const entry of world.host.ledger.entries.values()) {
    if (entry.service === name || entry.method.endsWith('/list')) entry.mustSucceed = false
    // A call that comes to the proxy after the change has a name that may be of any server which is starting.
    if (entry.service === name && entry.answers.length === 0)
      entry.budgetMs = Math.max(entry.budgetMs, GRACE_MS + OWN_MS)
  }
  world.reload(name, how)
}
