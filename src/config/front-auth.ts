// `server.publicUrl` and `server.auth`: access tokens of authorization servers.

import type { FrontAuthConfig, FrontAuthIssuer, FrontLogin } from './configuration.js'
import { isLoopback } from '../text/loopback.js'
import { type ExpansionSources, expandSecret } from './expand.js'
import { type Kind, list, text } from './kinds.js'
import type { Findings } from './problems.js'
import { type ValuesOf, type Rules, type Section, field, object, objects, optional } from './section.js'

/** Https, or http on this machine: a machine on the way could answer in the place of the other end otherwise. */
const safeUrl = '^(?:https://[^/?#\\s]+|http://(?:localhost|127\\.\\d+\\.\\d+\\.\\d+|\\[::1\\])(?::\\d+)?)'

const address = text({
  pattern: `${safeUrl}(?:/[^#\\s]*)?$`,
  wanted: 'an address that begins with https://, or with http:// on this machine',
})

/** RFC 8414, section 2: no query and no fragment. */
const issuer = text({
  pattern: `${safeUrl}(?:/[^?#\\s]*)?$`,
  wanted: 'the issuer as its tokens name it, such as "https://auth.example.com/realms/team"',
})

export const publicUrl: Kind<string> = text({
  pattern: '^https?://[^/?#\\s"]+(?:/[^?#\\s"]*)?$',
  wanted: 'the address under which clients reach the front, such as "https://mcp.example.com"',
})

/** Signatures that everybody can check and one side can make. A secret that both sides have is none. */
const asymmetric = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA']

const algorithms = list(
  text({
    pattern: `^(?:${asymmetric.join('|')})$`,
    wanted: `one of ${asymmetric.join(', ')}: the front takes no token that is unsigned or signed with a shared secret`,
  }),
)

/** RFC 6749, section 3.3. */
const scope = text({
  pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
  wanted: 'one scope, without spaces and quotes',
})

const ISSUERS_MAX = 16
const RULES_MAX = 256

const introspectionFields = {
  url: field(address, '', 'Address of the introspection endpoint (RFC 7662).'),
  clientId: field(text(), '', 'The client id of the front at the authorization server.'),
  clientSecret: field(text({ secret: true }), '', 'Its secret; ${VAR} is expanded.'),
}

const issuerFields = {
  issuer: field(issuer, '', 'The authorization server, exactly as its tokens and its metadata write it.'),
  audience: field(
    list(text()),
    [],
    'What tokens may have in "aud" besides the addresses under publicUrl, such as the identifier of an API.',
  ),
  algorithms: field(algorithms, ['RS256', 'ES256'], 'Signatures that are accepted.'),
  jwksUri: optional(address, 'Address of the keys. Absent: the one in the metadata of the issuer.'),
  introspection: optional(
    object(introspectionFields, undefined, {
      required: ['url', 'clientId', 'clientSecret'],
      isClosed: true,
    }),
    'Asks the issuer about each token, also about those that are no JWT.',
  ),
}

type FrontIssuerValues = ValuesOf<typeof issuerFields>

const loginFields = {
  issuer: optional(issuer, 'The authorization server, one of the issuers. Absent: the first.'),
  clientId: field(
    text(),
    '',
    'The client id of the front there, with the redirect URI PUBLICURL/login/identity.',
  ),
  clientSecret: field(text({ secret: true }), '', 'Its secret; ${VAR} is expanded.'),
}

type FrontLoginValues = ValuesOf<typeof loginFields>

const ruleFields = {
  scope: optional(scope, 'A scope of the token, in "scope" or "scp".'),
  claim: optional(text(), 'A claim of the token, such as "groups", which is or contains "value".'),
  value: optional(text(), 'The text that the claim is or contains.'),
  profiles: optional(list(text()), 'The profiles that such tokens may use. Absent: everything.'),
}

const ruleRules: Rules = {
  isClosed: true,
  oneOf: ['scope', 'claim'],
  needs: [
    ['claim', 'value'],
    ['value', 'claim'],
  ],
}

const frontAuthFields = {
  scopes: field(
    list(scope),
    [],
    'Scopes as clients must ask for them where that differs from the token, such as "api://mcp/mcp.read". Absent: those of the rules.',
  ),
  issuers: optional(
    objects(
      issuerFields,
      'One authorization server.',
      { required: ['issuer'], isClosed: true },
      { minItems: 1 },
    ),
    'Whose tokens are accepted.',
  ),
  rules: optional(
    objects(ruleFields, 'One rule.', ruleRules),
    'Which profiles tokens may use. Absent: everything. Of several rules that fit, all count.',
  ),
  login: optional(
    object(loginFields, undefined, { required: ['clientId', 'clientSecret'], isClosed: true }),
    'The client of the front, by which users show who they are before they log in to a server.',
  ),
}

type FrontAuthValues = ValuesOf<typeof frontAuthFields>

export const frontAuthKind: Kind<FrontAuthValues> = object(frontAuthFields, undefined, {
  required: ['issuers'],
  isClosed: true,
})

/** Reads `server.publicUrl`, in the form in which tokens have it: without a slash at its end. */
export function readPublicUrl(server: Section, written: string | undefined): string | undefined {
  if (written === undefined || !isAddress(server.findings, server.pathOf('publicUrl'), written))
    return undefined
  const { origin, pathname, protocol, hostname } = new URL(written)
  if (protocol === 'http:' && !isLoopback(hostname))
    server.warn(
      'publicUrl',
      `is "${written}": the tokens of clients can be read on the way, and no browser keeps the cookie of its login pages; use https`,
    )
  const path = pathname.replace(/\/+$/, '')
  if (path.endsWith('/mcp'))
    server.warn('publicUrl', `ends in /mcp, so that clients connect to ${origin}${path}/mcp; take /mcp away`)
  return origin + path
}

/** The sources of a secret; on stdio no problem of one is reported. */
interface SecretSources extends ExpansionSources {
  readonly findings: Findings
}

/** Whether a text that looks like an address is one. */
function isAddress(findings: Findings, path: string, written: string): boolean {
  const isOne = URL.canParse(written)
  if (!isOne) findings.problem(path, `is "${written}"`, 'must be an address with the name of a host')
  return isOne
}

/** The block `server.auth`, with its secrets. */
export function readFrontAuth(
  server: Section,
  { scopes, issuers: listed, rules = [], login }: FrontAuthValues,
  sources: SecretSources,
): FrontAuthConfig {
  const { findings } = server
  const path = server.pathOf('auth')
  const issuers = listed ?? []
  const names = issuers.map((each) => each.issuer)
  const again = names.find((name, at) => names.indexOf(name) < at)
  if (again !== undefined) findings.problem(`${path}.issuers`, `has "${again}" twice`, 'keep one of them')
  if (listed?.length === 0)
    findings.problem(`${path}.issuers`, 'is empty', 'name at least one authorization server')
  if (issuers.length > ISSUERS_MAX)
    findings.problem(`${path}.issuers`, `has ${issuers.length} members`, `keep at most ${ISSUERS_MAX}`)
  if (rules.length > RULES_MAX)
    findings.problem(`${path}.rules`, `has ${rules.length} members`, `keep at most ${RULES_MAX}`)
  return {
    issuers: issuers.map((each, at) => readIssuer(each, `${path}.issuers[${at}]`, findings, sources)),
    rules,
    scopes,
    login: login && readFrontLogin(login, names, `${path}.login`, findings, sources),
  }
}

function readIssuer(
  values: FrontIssuerValues,
  path: string,
  findings: Findings,
  sources: SecretSources,
): FrontAuthIssuer {
  const { introspection } = values
  const addresses = [
    ['issuer', values.issuer],
    ['jwksUri', values.jwksUri],
    ['introspection.url', introspection?.url],
  ] as const
  for (const [key, written] of addresses)
    if (written !== undefined && written !== '') isAddress(findings, `${path}.${key}`, written)
  if (values.algorithms.length === 0)
    findings.problem(`${path}.algorithms`, 'is empty', `name at least one of ${asymmetric.join(', ')}`)
  return {
    ...values,
    introspection: introspection && withSecret(introspection, `${path}.introspection`, sources),
  }
}

function withSecret<T extends { readonly clientSecret: string }>(
  values: T,
  path: string,
  sources: SecretSources,
): T {
  const secret = expandSecret(values.clientSecret, 'block', `${path}.clientSecret`, sources)
  return { ...values, clientSecret: secret.kind === 'text' ? secret.text : '' }
}

function readFrontLogin(
  values: FrontLoginValues,
  names: readonly string[],
  path: string,
  findings: Findings,
  sources: SecretSources,
): FrontLogin {
  const { issuer: found = names[0] ?? '' } = values
  if (!names.includes(found))
    findings.problem(`${path}.issuer`, `is "${found}"`, `must be one of ${names.join(', ')}`)
  return { ...withSecret(values, path, sources), issuer: found }
}
