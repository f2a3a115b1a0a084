// `token create`, `token list` and `token revoke`: tokens of single clients of the HTTP front.
//
// The configuration contains only the hash of a token, with which no tool can be called.

import { createHash, randomBytes } from 'node:crypto'
import type { FrontConfig } from '../config/configuration.js'
import { editTokens } from '../config/edit.js'
import { hasSeveralPrincipals, refusesEveryClient } from '../config/front.js'
import { revokeEverywhere } from '../gateway/revocations.js'
import { realClock } from '../runtime/deadline.js'
import { Cluster } from '../store/cluster.js'
import { StoreRefused, openRedisStore } from '../store/redis-store.js'
import { errorText } from '../text/error-text.js'
import { changeFile, editing } from './edit-file.js'
import { loadWithSecrets } from './load.js'
import { Failure, aligned, note, print } from './console.js'
import { type Given, UsageError, assertName, command, formed, repeated } from './command-line.js'
import { config } from './common-options.js'

const TOKEN_BYTES = 32

/** Names this process in messages to instances; no instance has this name. */
const LABEL = 'token.revoke'

const HOURS: Readonly<Record<string, number>> = { h: 1, d: 24, w: 168 }

const options = {
  config,
  expires: formed(
    'WHEN',
    'With create: 12h, 30d, 8w or a date',
    endOf,
    'like 12h, 30d, 8w, or a day to come as YYYY-MM-DD',
  ),
  profile: repeated('NAME', 'With create: the profile that it reaches; may be given again'),
}

type TokenTask = Given<typeof options>

export const tokenCommand = command({
  name: 'token',
  takes: 'create|list|revoke NAME',
  about: 'tokens of single clients over HTTP',
  group: 'SET UP',
  details: `token create prints a new token once. The configuration gets its name and its SHA-256, from which
the token cannot be had. With --profile its clients reach that profile alone, at /p/NAME/mcp.
token revoke takes it out again. A running gateway reads the file:
clients of a revoked token get 401, and their sessions end. With server.store that holds for all
instances on the store, also where their configuration still has the token.`,
  examples: ['mcps-proxy token create ci --expires 30d', 'mcps-proxy token revoke ci'],
  options,
  first: ['create', 'list', 'revoke'],
  wordsMax: 2,
  check: ({ words: [what = '', name], expires, profile }) => {
    if (what !== 'create' && (expires !== undefined || profile.length > 0))
      throw new UsageError('--expires and --profile work only with create')
    assertName('token', what, name)
  },
  run: (task) => {
    const [what = '', name = ''] = task.words
    return editing(task.config, async (path) => (await actions[what]?.(name, task, path)) ?? 0)
  },
})

type Action = (name: string, task: TokenTask, path: string) => Promise<void>

const actions: Readonly<Record<string, Action>> = {
  create: async (name, { expires, profile: profiles, config }, path) => {
    const token = `mcps_${randomBytes(TOKEN_BYTES).toString('base64url')}`
    const sha256 = createHash('sha256').update(token).digest('hex')
    const limits = { ...(profiles.length > 0 && { profiles }), ...(expires !== undefined && { expires }) }
    await changeFile(path, (text) => editTokens(text, { kind: 'create', token: { name, sha256, ...limits } }))
    await print(token)
    const until = expires === undefined ? '' : `, until ${expires}`
    await note(
      `'${name}' is in ${path} as its hash${until}, and not shown again: give it to the client as "Authorization: Bearer TOKEN"${addressesOf(profiles)}`,
    )
    // The first token closes a gateway that was open.
    if (!hasSeveralPrincipals(await frontOf(config)))
      await note(
        'from now on every client of the gateway needs one, and all outside of profiles, such as the status page, one without --profile',
      )
  },
  list: async (_, { config }) => {
    const { tokens = [] } = await frontOf(config)
    if (tokens.length === 0) return note('there is no token; mcps-proxy token create NAME makes one')
    const rows = tokens.map(({ name, profiles, expiresAtMs }) => {
      const scope = profiles === undefined ? 'everything' : `profiles ${profiles.join(', ')}`
      return [name, `${scope}; ${untilWords(expiresAtMs)}`] as const
    })
    return print(...aligned(rows))
  },
  revoke: async (name, { config }, path) => {
    // A revocation in the store alone is safe, so it comes first.
    await revokeInStore(name, config)
    await changeFile(path, (text) => editTokens(text, { kind: 'revoke', name }))
    await print(`${name} is revoked`)
    if (refusesEveryClient(await frontOf(config)))
      await note(
        `it was the last token of the file, and a gateway without MCPS_PROXY_TOKEN refuses every client now; make a token with mcps-proxy token create, or remove "tokens": [] from ${path} and restart the gateway to serve without one`,
      )
  },
}

async function frontOf(path: string | undefined, servesHttp = false): Promise<FrontConfig> {
  const { server } = await loadWithSecrets({ path, servesHttp }, { runsPrograms: servesHttp })
  return server
}

/** Revokes the token for all instances, if there is a store. @throws Failure if the store cannot be asked */
async function revokeInStore(name: string, path: string | undefined): Promise<void> {
  if ((await frontOf(path)).store === undefined) return
  const { store: url = '', stateKeys, tokens = [] } = await frontOf(path, true)
  const token = tokens.find((each) => each.name === name)
  if (token === undefined) return
  try {
    const store = await openRedisStore(url, realClock)
    const secrets = (): readonly string[] => stateKeys
    const cluster = new Cluster({ label: LABEL, store, secrets, runtime: realClock, log: () => {} })
    await revokeEverywhere(cluster, token.sha256).finally(() => store.close())
  } catch (error) {
    const hint = error instanceof StoreRefused ? `; ${error.hint}` : ''
    throw new Failure(`'${name}' is not revoked: server.store ${errorText(error)}${hint}`)
  }
}

/** The client of a token for a single profile finds that profile at `/mcp`. */
function addressesOf(profiles: readonly string[]): string {
  if (profiles.length < 2) return ', with the address /mcp'
  return `, with the address ${profiles.map((name) => `/p/${encodeURIComponent(name)}/mcp`).join(' or ')}`
}

function untilWords(expiresAtMs: number | undefined): string {
  if (expiresAtMs === undefined) return 'does not expire'
  const date = secondsOf(expiresAtMs)
  return expiresAtMs <= Date.now() ? `expired ${date}` : `expires ${date}`
}

/** The form in the configuration: a coming day as it was written, or the end of a span. */
function endOf(written: string): string | undefined {
  const [, count, unit = ''] = /^([1-9]\d{0,3})([hdw])$/.exec(written) ?? []
  const hours = HOURS[unit]
  if (hours !== undefined) return secondsOf(Date.now() + Number(count) * hours * 3_600_000)
  return /^\d{4}-\d{2}-\d{2}$/.test(written) && Date.parse(written) > Date.now() ? written : undefined
}

function secondsOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
