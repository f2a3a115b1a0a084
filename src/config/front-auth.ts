// `server.publicUrl` and `server.auth`: access tokens of authorization servers.

import type { FrontAuthConfig, FrontAuthIssuer, FrontAuthRule, FrontLogin } from './configuration.js'
import { isLoopback } from '../text/loopback.js'
import { Expansion, type ExpansionSources } from './expand.js'
import { type Kind, list, text } from './kinds.js'
import type { Findings } from './problems.js'
import { type FieldsOf, type Rules, type Section, field, optional } from './section.js'

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

export interface FrontIssuerValues {
  readonly issuer: string
  readonly audience: readonly string[]
  readonly algorithms: readonly string[]
  readonly jwksUri: string | undefined
}

export const frontIssuerFields: FieldsOf<FrontIssuerValues> = {
  issuer: field(issuer, '', 'The authorization server, exactly as its tokens and its metadata write it.'),
  audience: field(
    list(text()),
    [],
    'What tokens may have in "aud" besides the addresses under publicUrl, such as the identifier of an API.',
  ),
  algorithms: field(algorithms, ['RS256', 'ES256'], 'Signatures that are accepted.'),
  jwksUri: optional(address, 'Address of the keys. Absent: the one in the metadata of the issuer.'),
}

export const frontIssuerRules: Rules = { required: ['issuer'] }

export interface IntrospectionValues {
  readonly url: string
  readonly clientId: string
  readonly clientSecret: string
}

export const introspectionFields: FieldsOf<IntrospectionValues> = {
  url: field(address, '', 'Address of the introspection endpoint (RFC 7662).'),
  clientId: field(text(), '', 'The client id of the front at the authorization server.'),
  clientSecret: field(text({ secret: true }), '', 'Its secret; ${VAR} is expanded.'),
}

export const introspectionRules: Rules = { required: ['url', 'clientId', 'clientSecret'] }

export interface FrontLoginValues extends Omit<FrontLogin, 'issuer'> {
  readonly issuer: string | undefined
}

export const frontLoginFields: FieldsOf<FrontLoginValues> = {
  issuer: optional(issuer, 'The authorization server, one of the issuers. Absent: the first.'),
  clientId: field(
    text(),
    '',
    'The client id of the front there, with the redirect URI PUBLICURL/login/identity.',
  ),
  clientSecret: field(text({ secret: true }), '', 'Its secret; ${VAR} is expanded.'),
}

export const frontLoginRules: Rules = { required: ['clientId', 'clientSecret'] }

export interface FrontAuthRuleValues {
  readonly scope: string | undefined
  readonly claim: string | undefined
  readonly value: string | undefined
  readonly profiles: readonly string[] | undefined
}

export const frontAuthRuleFields: FieldsOf<FrontAuthRuleValues> = {
  scope: optional(scope, 'A scope of the token, in "scope" or "scp".'),
  claim: optional(text(), 'A claim of the token, such as "groups", which is or contains "value".'),
  value: optional(text(), 'The text that the claim is or contains.'),
  profiles: optional(list(text()), 'The profiles that such tokens may use. Absent: everything.'),
}

export const frontAuthRuleRules: Rules = {
  oneOf: ['scope', 'claim'],
  needs: [
    ['claim', 'value'],
    ['value', 'claim'],
  ],
}

export interface FrontAuthValues {
  readonly scopes: readonly string[]
}

export const frontAuthFields: FieldsOf<FrontAuthValues> = {
  scopes: field(
    list(scope),
    [],
    'Scopes as clients must ask for them where that differs from the token, such as "api://mcp/mcp.read". Absent: those of the rules.',
  ),
}

/** Reads `server.publicUrl`, in the form in which tokens have it: without a slash at its end. */
export function readPublicUrl(server: Section, written: string | undefined): string | undefined {
  if (written === undefined || !isAddress(server, 'publicUrl', written)) return undefined
  const { origin, pathname, protocol, hostname } = new URL(written)
  if (protocol === 'http:' && !isLoopback(hostname))
    server.warn(
      'publicUrl',
      `is "${written}": the tokens of clients can be read on the way, and no browser keeps the cookie of its login pages; use https`,
    )
  return origin + pathname.replace(/\/+$/, '')
}

/** The sources of a secret; on stdio no problem of one is reported. */
interface SecretSources extends ExpansionSources {
  readonly findings: Findings
}

/** Whether a text that looks like an address is one. */
function isAddress(section: Section, key: string, written: string): boolean {
  const isOne = URL.canParse(written)
  if (!isOne) section.problem(key, `is "${written}"`, 'must be an address with the name of a host')
  return isOne
}

/** Reads `server.auth`; undefined when it is absent. */
export function readFrontAuth(server: Section, sources: SecretSources): FrontAuthConfig | undefined {
  if (!server.has('auth')) return undefined
  const section = server.section('auth')
  const { scopes } = section.readAll(frontAuthFields)
  const issuers = section.objects('issuers').map((each) => readIssuer(each, sources))
  const rules = section.objects('rules').map(readRule)
  const login = section.has('login') ? readFrontLogin(section.section('login'), issuers, sources) : undefined
  section.warnOfUnknownKeys()
  const again = issuers.find(
    (each, at) => issuers.findIndex(({ issuer: other }) => other === each.issuer) < at,
  )
  if (again !== undefined) section.problem('issuers', `has "${again.issuer}" twice`, 'keep one of them')
  if (issuers.length === 0) section.problem('issuers', 'is empty', 'name at least one authorization server')
  if (issuers.length > ISSUERS_MAX)
    section.problem('issuers', `has ${issuers.length} members`, `keep at most ${ISSUERS_MAX}`)
  if (rules.length > RULES_MAX)
    section.problem('rules', `has ${rules.length} members`, `keep at most ${RULES_MAX}`)
  return { issuers, rules, scopes, login }
}

function readIssuer(section: Section, sources: SecretSources): FrontAuthIssuer {
  section.check(frontIssuerRules, frontIssuerFields)
  const values = section.readAll(frontIssuerFields)
  const introspection = section.has('introspection')
    ? readIntrospection(section.section('introspection'), sources)
    : undefined
  section.warnOfUnknownKeys()
  if (values.issuer !== '') isAddress(section, 'issuer', values.issuer)
  if (values.jwksUri !== undefined) isAddress(section, 'jwksUri', values.jwksUri)
  const written = section.raw('algorithms')
  if (Array.isArray(written) && written.length === 0)
    section.problem('algorithms', 'is empty', `name at least one of ${asymmetric.join(', ')}`)
  return { ...values, introspection }
}

function readIntrospection(section: Section, sources: SecretSources): FrontAuthIssuer['introspection'] {
  section.check(introspectionRules, introspectionFields)
  const { url, clientId, clientSecret } = section.readOnly(introspectionFields)
  if (url !== '') isAddress(section, 'url', url)
  return { url, clientId, clientSecret: readSecret(section, clientSecret, sources) }
}

function readSecret(section: Section, written: string, sources: SecretSources): string {
  const expansion = new Expansion(sources)
  const secret = expansion.text(written)
  if (expansion.missing !== undefined)
    sources.findings.problem(
      section.pathOf('clientSecret'),
      `has no value: ${expansion.missing}`,
      'set it, or take the block out',
    )
  return secret
}

function readFrontLogin(
  section: Section,
  issuers: readonly FrontAuthIssuer[],
  sources: SecretSources,
): FrontLogin {
  section.check(frontLoginRules, frontLoginFields)
  const { issuer: named, clientId, clientSecret } = section.readOnly(frontLoginFields)
  const names = issuers.map((each) => each.issuer)
  const found = named ?? names[0] ?? ''
  if (!names.includes(found)) section.problem('issuer', `is "${found}"`, `must be one of ${names.join(', ')}`)
  return { issuer: found, clientId, clientSecret: readSecret(section, clientSecret, sources) }
}

function readRule(section: Section): FrontAuthRule {
  section.check(frontAuthRuleRules, frontAuthRuleFields)
  return section.readOnly(frontAuthRuleFields)
}
