// Small plans that once failed. They are kept as data, one in each line of `regressions.jsonl`, since a seed gives
// another plan after each change of the simulator. A line omits what equals `plain-plan.ts`, and null means
// undefined.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { root } from '../support/source-text.js'
import { plainClient, plainPlan, plainServer } from './plain-plan.js'
import type { ClientPlan, Plan, ServerPlan } from './plan.js'

export type Regression = { readonly what: string; readonly plan: Plan }

interface Line {
  readonly what: string
  readonly plan: Partial<Omit<Plan, 'servers' | 'clients'>> & {
    readonly servers: readonly (Partial<ServerPlan> & Pick<ServerPlan, 'name'>)[]
    readonly clients?: readonly (Partial<ClientPlan> & Pick<ClientPlan, 'name'>)[]
  }
}

const lines = readFileSync(join(root, 'test/sim/regressions.jsonl'), 'utf8').trimEnd().split('\n')
export const regressions: readonly Regression[] = lines.map(regressionOf)

export function regressionOf(text: string): Regression {
  const { what, plan }: Line = JSON.parse(text)
  const { servers, clients, ...more }: Line['plan'] = withUndefined(plan)
  return {
    what,
    plan: plainPlan({
      ...more,
      servers: servers.map((server) => plainServer(server.name, server)),
      ...(clients !== undefined && { clients: clients.map((client) => plainClient(client.name, client)) }),
    }),
  }
}

// oxlint-disable-next-line typescript/no-explicit-any -- the same data with undefined in place of null
function withUndefined(value: unknown): any {
  if (value === null) return undefined
  if (Array.isArray(value)) return value.map(withUndefined)
  if (typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, withUndefined(member)]))
}

/** The output of the simulator for a failing plan, after shrinking it. */
export function regressionLine(what: string, { servers, clients, ...more }: Plan): string {
  const plain = plainPlan({ servers: [] })
  const plan = {
    ...without(more, plain),
    servers: servers.map((server) => ({ name: server.name, ...without(server, plainServer(server.name)) })),
    clients: clients.map((client) => ({ name: client.name, ...without(client, plainClient(client.name)) })),
  }
  return JSON.stringify({ what, plan }, (_, value: unknown) => value ?? null)
}

function without(value: object, plain: object): object {
  return Object.fromEntries(
    Object.entries(value).filter(([key, member]) => !isDeepStrictEqual(member, Reflect.get(plain, key))),
  )
}
