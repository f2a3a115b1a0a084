// The `server` section, and the environment variables that stand above it.

import type { CorsConfig, Environment, FrontConfig, FrontToken } from './configuration.js'
import { type ExpansionSources, expandSecret } from './expand.js'
import { type TokenValues, corsFields, frontFields, frontRules, stateKeyLengthMin } from './fields.js'
import { readFrontAuth, readPublicUrl } from './front-auth.js'
import { wholeFileKeyHints } from './key-hints.js'
import { Findings, switchOf } from './problems.js'
import type { Section } from './section.js'
import { isLoopback } from '../text/loopback.js'

/** Defaults of one front, in place of the usual ones. */
export interface FrontDefaults {
  readonly name?: string | undefined
  readonly port?: number
  /** Whether cross-origin requests are answered. */
  readonly cors?: boolean
  /** Without it, the environment is not checked for what only the front needs. */
  readonly isServed: boolean
  /** Whether the token is needed all the same, to be sent to the front. */
  readonly isAsked: boolean
}

/** The environment that stands above the file, and where its problems are reported. */
interface Overrides extends ExpansionSources {
  readonly findings: Findings
}

/** Reads `server`; `MCP_SERVER_HOST`, `MCP_SERVER_PORT`, `MCP_ENABLE_CORS`, `MCP_CORS_ORIGINS`, `MCPS_PROXY_TOKEN` and `MCPS_PROXY_STATE_KEY` override it. */
export function readFront(section: Section, sources: ExpansionSources, defaults: FrontDefaults): FrontConfig {
  const { env } = sources
  const {
    drainTimeout,
    stateKey,
    previousStateKey,
    publicUrl: url,
    ui: { history, ...ui },
    tokens,
    auth,
    ...values
  } = section.readAll(frontFields, {
    ...(defaults.name !== undefined && { name: defaults.name }),
    ...(defaults.port !== undefined && { port: defaults.port }),
  })
  const whole = { ...sources, findings: section.findings }
  const overrides = defaults.isServed
    ? whole
    : { ...sources, findings: new Findings(), references: undefined }
  section.check(frontRules, frontFields)
  const publicUrl = readPublicUrl(section, url)
  const front = {
    ...values,
    publicUrl,
    port: portOf(overrides) ?? values.port,
    host: given(env, 'MCP_SERVER_HOST') ?? values.host,
    cors: readCors(section.section('cors'), overrides, defaults),
    ui: { ...ui, historyBytes: history },
    drainTimeoutMs: drainTimeout,
    token: readToken(values.token, section, defaults.isAsked ? whole : overrides),
    tokens: tokens && readTokens(tokens, section),
    auth: auth && readFrontAuth(section, auth, overrides),
    stateKeys: [
      ...readStateKey('stateKey', given(env, 'MCPS_PROXY_STATE_KEY') ?? stateKey, section, overrides),
      ...readStateKey('previousStateKey', previousStateKey, section, overrides),
    ],
  }
  section.reportUnknownKeys(wholeFileKeyHints)
  refuseOpenMetrics(front, section)
  warnOfNoToken(front, overrides.findings, section)
  return front
}

/** The last token was revoked, which must not open the front. */
function warnOfNoToken(front: TokenNeeds, findings: Findings, section: Section): void {
  if (!refusesEveryClient(front)) return
  findings.warn(
    section.pathOf('tokens'),
    'is empty, so the HTTP front refuses every client; make a token with mcps-proxy token create, or take this key out and restart to serve without one',
  )
}

/** The port of the metrics has no token. */
function refuseOpenMetrics({ metrics }: Pick<FrontConfig, 'metrics'>, section: Section): void {
  if (metrics?.port === undefined || metrics.open || isLoopback(metrics.host)) return
  section.findings.problem(
    `${section.pathOf('metrics')}.host`,
    `is "${metrics.host}", which other machines can reach, and this port asks for no token`,
    'add "open": true if they may read the metrics, or leave "port" out and scrape GET /metrics of the HTTP front',
  )
}

function portOf({ env, findings }: Overrides): number | undefined {
  const text = given(env, 'MCP_SERVER_PORT')
  if (text === undefined) return undefined
  const port = /^\d+$/.test(text) ? Number(text) : text
  return frontFields.port.kind.read(port, { path: '$MCP_SERVER_PORT', findings })
}

/** The origin that a browser sends for a page: scheme, host and port (RFC 6454); patterns are none. */
const origin = /^(?:\*|null|[a-z][a-z0-9+.-]*:\/\/[^/?#*\s]+\/?)$/i

function readCors(section: Section, overrides: Overrides, { cors }: FrontDefaults): CorsConfig {
  const named = given(overrides.env, 'MCP_CORS_ORIGINS')
    ?.split(/[\s,]+/)
    .filter((each) => each !== '')
  const read = section.readAll(corsFields, cors === undefined ? {} : { enabled: cors })
  const values = named === undefined ? read : { ...read, origins: named }
  section.reportUnknownKeys()
  for (const [index, each] of values.origins.entries())
    if (!origin.test(each))
      section.findings.warn(
        named === undefined ? `${section.pathOf('origins')}[${index}]` : '$MCP_CORS_ORIGINS',
        `is "${each}", which no page has for its origin; one is like "https://app.example.com:8443"`,
      )
  const enabled = readSwitch(overrides)
  const localPages = enabled === true && values.origins.includes('*')
  return { ...values, enabled: enabled ?? values.enabled, ...(localPages && { localPages }) }
}

function readSwitch({ env, findings }: Overrides): boolean | undefined {
  const value = given(env, 'MCP_ENABLE_CORS')
  return value === undefined ? undefined : switchOf('MCP_ENABLE_CORS', value, findings)
}

/** A token that names an unset variable must not become a token that is easy to guess. */
function readToken(inFile: string | undefined, section: Section, overrides: Overrides): string | undefined {
  const fromEnv = given(overrides.env, 'MCPS_PROXY_TOKEN')
  const written = fromEnv ?? inFile
  if (written === undefined) return undefined
  const path = fromEnv === undefined ? section.pathOf('token') : '$MCPS_PROXY_TOKEN'
  const read =
    fromEnv === undefined
      ? expandSecret(written, 'token', path, overrides)
      : ({ kind: 'text', text: fromEnv } as const)
  if (read.kind === 'missing') return undefined
  // Of an unresolved secret it is known that there is one.
  if (read.kind === 'partial') return inFile
  const { text } = read
  if (/^[\x21-\x7e]+$/.test(text)) return text
  const [problem, hint] =
    text === ''
      ? ['is empty', 'set it, or take the token out']
      : [
          'has characters that stand in no bearer token',
          'use letters, digits and signs of ASCII, without spaces',
        ]
  overrides.findings.problem(path, problem, hint)
  return undefined
}

type TokenNeeds = Pick<FrontConfig, 'token' | 'tokens'> & Partial<Pick<FrontConfig, 'auth'>>

/** Whether clients of the front must present a token, even if no token is valid. */
export function needsToken({ token, tokens, auth }: TokenNeeds): boolean {
  return token !== undefined || tokens !== undefined || auth !== undefined
}

/** Whether the front needs a token and has none, because its last one was revoked. */
export function refusesEveryClient({ token, tokens, auth }: TokenNeeds): boolean {
  return tokens?.length === 0 && token === undefined && auth === undefined
}

/** Whether the clients of the front are of several principals, and not all of one. */
export function hasSeveralPrincipals({ token, tokens = [], auth }: FrontConfig): boolean {
  return auth !== undefined || tokens.length + (token === undefined ? 0 : 1) > 1
}

/** Whether clients of the front have names: of their tokens, or of logins. */
export function hasUsers({ tokens = [], auth }: FrontConfig): boolean {
  return auth !== undefined || tokens.length > 0
}

function readTokens(tokens: readonly TokenValues[], server: Section): FrontToken[] {
  const seen = new Map<string, string>()
  return tokens.map(({ name, sha256, profiles, expires }, at) => {
    const wrong = (key: string, problem: string, hint: string): void =>
      server.findings.problem(`${server.pathOf('tokens')}[${at}].${key}`, problem, hint)
    if (seen.has(name)) wrong('name', `is "${name}" again`, 'each token has a name of its own')
    if (name === 'anybody')
      wrong('name', 'is "anybody", which means the clients without a token', 'take another name')
    const twin = [...seen].find(([, hash]) => hash === sha256)?.[0]
    if (twin !== undefined && twin !== name)
      wrong(
        'sha256',
        `is that of "${twin}"`,
        'a token is one client; make another with mcps-proxy token create',
      )
    seen.set(name, sha256)
    const expiresAtMs = expires === undefined ? undefined : Date.parse(expires)
    if (Number.isNaN(expiresAtMs)) wrong('expires', `is "${expires}"`, 'must be a date of the calendar')
    return { name, sha256, profiles, expiresAtMs }
  })
}

function readStateKey(
  name: 'stateKey' | 'previousStateKey',
  written: string | undefined,
  section: Section,
  overrides: Overrides,
): readonly string[] {
  if (written === undefined) return []
  const path = section.pathOf(name)
  const read = expandSecret(written, 'key', path, overrides)
  if (read.kind !== 'text') return []
  if (read.text.length >= stateKeyLengthMin) return [read.text]
  overrides.findings.problem(
    path,
    `has ${read.text.length} characters`,
    `must have at least ${stateKeyLengthMin}`,
  )
  return []
}

function given(env: Environment, name: string): string | undefined {
  const value = env[name]
  return value === '' ? undefined : value
}
