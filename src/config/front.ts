// The `server` section, and the environment variables that override it.

import { isLoopback } from '../text/loopback.js'
import type { FrontAuthConfig, FrontConfig, FrontToken } from './configuration.js'
import { Expansion, type ExpansionSources } from './expand.js'
import { frontType } from './keys.js'
import { ProblemList } from './problems.js'
import type { Location, Reading } from './values.js'

interface FrontUse {
  /** Whether the HTTP front is served. If not, problems that concern only the front are not reported. */
  readonly isServed: boolean
  /** Whether this process sends the token to a running front, so that the token needs a value. */
  readonly isAsked: boolean
}

type Values = NonNullable<ReturnType<typeof frontType.read>>

/** Reads `server`. Returns undefined after a report that it is no object. */
export function readFront(at: Location, sources: ExpansionSources, use: FrontUse): FrontConfig | undefined {
  const secrets = new Set<string>()
  const reading = { ...neededReading(at, sources, use), onSecret: (value: string) => void secrets.add(value) }
  const values = frontType.read(at.with(reading))
  if (values === undefined) return undefined
  const { stateKey, previousStateKey, cors, auth, ...plain } = values
  const isInEnv = (sources.env['MCP_ENABLE_CORS'] ?? '') !== ''
  const localPages = isInEnv && cors.enabled && cors.origins.includes('*')
  const front = {
    ...plain,
    cors: { ...cors, ...(localPages && { localPages }) },
    auth: auth && readAuth(auth, at.at('auth')),
    stateKeys: [stateKey, previousStateKey].filter((key) => key !== undefined),
    secrets: [...secrets],
  }
  checkTokens(plain.tokens ?? [], at.at('tokens'))
  if (plain.store !== undefined && front.stateKeys.length === 0 && use.isServed)
    at.at('store').problem(
      'needs a key that all instances have',
      'set server.stateKey or MCPS_PROXY_STATE_KEY to one secret on all of them',
    )
  const { port, host, open } = plain.metrics ?? { open: true, host: '' }
  if (port !== undefined && !open && !isLoopback(host))
    at.at('metrics')
      .at('host')
      .problem(
        `is "${host}", which other machines can reach, and this port asks for no token`,
        'add "open": true if they may read the metrics, or leave "port" out and scrape GET /metrics of the HTTP front',
      )
  // The user revoked the last token. That must not open the front to everyone.
  if (refusesEveryClient(front) && use.isServed)
    at.at('tokens').warn(
      'is empty, so the HTTP front refuses every client; make a token with mcps-proxy token create, or remove this key and restart to serve without one',
    )
  return front
}

/** A needed text without a value stops the start, so that no secret becomes an empty or guessable text. */
export function neededReading(at: Location, sources: ExpansionSources, use: FrontUse): Partial<Reading> {
  const silent = new ProblemList()
  const { problems } = at.reading
  return {
    variables: { env: sources.env, areAbove: true, problems: use.isServed ? problems : silent },
    expand: (text, place, { expected, isRight }) => {
      const isToken = place.path === at.at('token').path
      const isStore = place.path === at.at('store').path
      const isNeeded = use.isServed || (use.isAsked && isToken)
      const expansion = new Expansion(isNeeded ? sources : { ...sources, references: undefined })
      const value = expansion.text(text)
      const { missing, isPartial } = expansion
      // The proxy must know that a token or a store is configured, even while its value is unresolved.
      if (missing === undefined && isPartial) return isToken || isStore ? text : undefined
      if (missing === undefined && isRight(value)) return value
      const [problem, hint] =
        missing === undefined
          ? ['has a value that cannot be used after its variables are replaced', `must be ${expected}`]
          : [`has no value: ${missing}`, 'set it, or remove the key']
      if (isNeeded) place.problem(problem, hint)
      return isStore && !isNeeded ? text : undefined
    },
  }
}

type TokenNeeds = Pick<FrontConfig, 'token' | 'tokens'> & Partial<Pick<FrontConfig, 'auth'>>

/** Whether clients of the front must present a token, even if no token is valid. */
export function needsToken({ token, tokens, auth }: TokenNeeds): boolean {
  return token !== undefined || tokens !== undefined || auth !== undefined
}

/** Whether the front needs a token but has none, because the user revoked the last one. */
export function refusesEveryClient({ token, tokens, auth }: TokenNeeds): boolean {
  return tokens?.length === 0 && token === undefined && auth === undefined
}

/** Whether clients of the front can be different principals. */
export function hasSeveralPrincipals({ token, tokens = [], auth }: FrontConfig): boolean {
  return auth !== undefined || tokens.length + (token === undefined ? 0 : 1) > 1
}

/** Whether clients of the front have names, from tokens or logins. */
export function hasUsers({ tokens = [], auth }: FrontConfig): boolean {
  return auth !== undefined || tokens.length > 0
}

function checkTokens(tokens: readonly FrontToken[], list: Location): void {
  for (const [index, { name, sha256 }] of tokens.entries()) {
    const at = list.at(index)
    const before = tokens.slice(0, index)
    if (before.some((each) => each.name === name))
      at.at('name').problem(`is "${name}" again`, 'each token has a name of its own')
    if (name === 'anybody')
      at.at('name').problem('is "anybody", which means the clients without a token', 'take another name')
    const twin = before.find((each) => each.sha256 === sha256)
    if (twin !== undefined && twin.name !== name)
      at.at('sha256').problem(
        `is that of "${twin.name}"`,
        'a token is one client; make another with mcps-proxy token create',
      )
  }
}

function readAuth({ login, ...values }: NonNullable<Values['auth']>, at: Location): FrontAuthConfig {
  const names = values.issuers.map((each) => each.issuer)
  const again = names.find((name, index) => names.indexOf(name) < index)
  if (again !== undefined) at.at('issuers').problem(`has "${again}" twice`, 'keep one of them')
  const issuer = login?.issuer ?? names[0] ?? ''
  if (login !== undefined && !names.includes(issuer))
    at.at('login')
      .at('issuer')
      .problem(`is "${issuer}"`, `must be one of ${names.join(', ')}`)
  return { ...values, login: login && { ...login, issuer } }
}
