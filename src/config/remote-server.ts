// A server of the file that is reached over the network.

import type {
  HttpServerConfig,
  HttpTls,
  LoginSettings,
  ServerCommon,
  UnattendedGrant,
} from '../upstream/contracts/server-config.js'
import type { Expanded, Expansion } from './expand.js'
import { loginFolder } from './file.js'
import { type PathBase, absoluteFile } from './paths.js'
import { isPublicValue, secretsOfHeaders, secretsOfUrl } from './secrets.js'
import type { Section } from './section.js'
import {
  type AuthValues,
  httpServerFields,
  httpServerRules,
  sseServerFields,
  urlKeys,
  protocols,
} from './server-fields.js'

/** The protocols of a server of the older transport. */
export const protocolsOfSse: readonly string[] = [...protocols.keys()].filter(
  (name) => protocols.get(name) !== 'stateless',
)

export function readHttp(
  kind: 'http' | 'sse',
  section: Section,
  common: Omit<ServerCommon, keyof Expanded>,
  expansion: Expansion,
  base: PathBase,
): HttpServerConfig {
  const url = readUrl(section, expansion)
  const headers = expansion.map(section.read(httpServerFields, 'headers'))
  const proxy = readProxy(section, expansion)
  const auth = section.read(httpServerFields, 'auth')
  const tls = readTls(section, expansion, base)
  const login = readLogin(section, { url, headers, own: auth }, expansion, base)
  const secrets = [
    ...secretsOfLogin(login),
    ...secretsOfHeaders(headers),
    ...secretsOfUrl(url),
    ...secretsOfUrl(proxy || ''),
  ]
  if (kind === 'sse' && common.protocol === 'stateless')
    section.problem(
      'protocol',
      'has no transport HTTP+SSE',
      'must be "auto", "legacy" or a version with sessions, or the type "http"',
    )
  return {
    kind,
    ...common,
    ...expansion.result(secrets, whyUnreachable(url, headers)),
    url,
    headers: Object.fromEntries(headers),
    retryDelayMs: section.read(httpServerFields, 'retryDelay'),
    ...readRetries(kind, section),
    auth: auth && {
      type: auth.type ?? 'none',
      audience: auth.audience,
      impersonateServiceAccount: auth.impersonateServiceAccount,
    },
    login,
    proxy,
    tls,
  }
}

/** Without a variable in it, an address that cannot be parsed is a mistake in the file. */
function readUrl(section: Section, expansion: Expansion): string {
  section.check(httpServerRules, httpServerFields)
  const key = urlKeys.find((each) => section.has(each)) ?? 'url'
  const written = section.read(httpServerFields, key) ?? ''
  if (written !== '' && !written.includes('${') && !isAddress(written))
    section.problem(key, 'is not an address', 'must be like "https://host/mcp"')
  return expansion.text(written)
}

/** Readers of addresses do not agree where a host ends that has `"` or `\` before its path. */
function isAddress(text: string): boolean {
  return URL.canParse(text) && !/^[^/]*\/\/[^/?#]*["\\]/.test(text)
}

/** For an event stream `maxRetries` counts, and `retries` where only that is given. */
function readRetries(
  kind: 'http' | 'sse',
  section: Section,
): Pick<HttpServerConfig, 'retries' | 'reconnectIntervalMs'> {
  const retries = section.read(httpServerFields, 'retries')
  if (kind === 'http') return { retries, reconnectIntervalMs: sseServerFields.reconnectInterval.fallback }
  const fallbacks = section.has('retries') ? { maxRetries: retries } : {}
  const { maxRetries, reconnectInterval } = section.readAll(sseServerFields, fallbacks)
  return { retries: maxRetries, reconnectIntervalMs: reconnectInterval }
}

function readProxy(section: Section, expansion: Expansion): string | false | undefined {
  const written = section.read(httpServerFields, 'proxy')
  if (written === undefined || written === false) return written
  if (!written.includes('${') && !URL.canParse(written))
    section.problem(
      'proxy',
      'is not the address of a proxy',
      'must be like "http://host:3128" or "http://name:password@host:3128"',
    )
  return expansion.text(written)
}

/** The credentials of a server as far as they are read. */
interface ReadCredentials {
  readonly url: string
  readonly headers: ReadonlyMap<string, string>
  readonly own: AuthValues | undefined
}

/** A server that wants a login gets one, unless the configuration has other credentials for it. */
function readLogin(
  section: Section,
  { url, headers, own }: ReadCredentials,
  expansion: Expansion,
  base: PathBase,
): LoginSettings | undefined {
  const other = section.read(httpServerFields, 'oauth')
  const saysWho = [...headers.keys()].some((name) => name.toLowerCase() === 'authorization')
  if (own?.type === 'oauth' && saysWho)
    section.warn('headers', 'has "Authorization", which is sent in place of the token of a login')
  if (own?.perUser === true && (saysWho || own.type !== 'oauth'))
    section
      .section('auth')
      .problem(
        'perUser',
        'has no login to which it belongs',
        'needs "type": "oauth", and no "Authorization" in "headers"',
      )
  if (saysWho || (own !== undefined && own.type !== 'oauth')) return undefined
  const isAsked = own !== undefined || other !== undefined
  if (!isAsked && [...secretsOfHeaders(headers), ...secretsOfUrl(url)].length > 0) return undefined
  if (own?.perUser === true) checkPerUser(section, own)
  const secret = own?.clientSecret ?? other?.clientSecret
  const scopes = typeof other?.scopes === 'string' ? other.scopes : other?.scopes?.join(' ')
  return {
    folder: loginFolder(base.home),
    clientId: own?.clientId ?? other?.clientId,
    clientSecret: secret && expansion.text(secret),
    clientKey: own?.clientKey && expansion.text(own.clientKey),
    clientMetadataUrl: own?.clientMetadataUrl,
    scope: own?.scope ?? scopes,
    issuer: own?.issuer,
    assumesPkce: own?.pkce === 'assume',
    metadataUrl: other?.authServerMetadataUrl,
    resource: own?.resource,
    callbackPort: own?.callbackPort ?? other?.callbackPort,
    isAutomatic: own?.login !== 'manual' && own?.grant !== 'device',
    isByDevice: own?.grant === 'device',
    isPerUser: own?.perUser === true,
    unattended: own && readUnattended(own, expansion, base),
  }
}

/** The login of one user is no other's. */
function checkPerUser(section: Section, { grant = 'code' }: AuthValues): void {
  if (grant !== 'code' && grant !== 'device')
    section
      .section('auth')
      .problem('perUser', `stands beside the grant ${grant}, in which no user takes part`, 'keep one of them')
  if (section.raw('isolation') === 'shared')
    section.problem(
      'isolation',
      'is "shared" beside "auth.perUser"',
      'users with logins of their own share no session; take one of them out',
    )
}

/** The grant of a server that gets its tokens without a person. */
function readUnattended(auth: AuthValues, expansion: Expansion, base: PathBase): UnattendedGrant | undefined {
  const { grant: kind = 'code', assertion, assertionFile, identityProvider } = auth
  if (kind === 'code' || kind === 'device') return undefined
  return {
    kind,
    assertion: assertion && expansion.text(assertion),
    assertionFile:
      assertionFile === undefined ? undefined : absoluteFile(expansion.text(assertionFile), base),
    identityProvider: identityProvider && {
      ...identityProvider,
      clientSecret: identityProvider.clientSecret && expansion.text(identityProvider.clientSecret),
    },
  }
}

/** The parts of a login that are never logged. */
function secretsOfLogin(login: LoginSettings | undefined): string[] {
  const { clientSecret, clientKey, unattended } = login ?? {}
  const { assertion, identityProvider } = unattended ?? {}
  const values = [clientSecret, clientKey, assertion, identityProvider?.clientSecret]
  return values.flatMap((each) => (each === undefined || isPublicValue(each) ? [] : [each]))
}

function readTls(section: Section, expansion: Expansion, base: PathBase): HttpTls | undefined {
  const tls = section.read(httpServerFields, 'tls')
  const whole = (path: string | undefined): string | undefined =>
    path === undefined ? undefined : absoluteFile(expansion.text(path), base)
  return tls && { ...tls, ca: whole(tls.ca), cert: whole(tls.cert), key: whole(tls.key) }
}

/** The fault of an address or a header that was right in the file, before its variables were expanded. */
function whyUnreachable(url: string, headers: ReadonlyMap<string, string>): string | undefined {
  if (!/^https?:\/\//i.test(url) || !isAddress(url))
    return 'url is not an http:// or https:// address once its variables are put in'
  // oxlint-disable-next-line no-control-regex -- exactly these would end the header.
  const broken = [...headers].find(([, value]) => /[\u0000\r\n]/.test(value))
  return broken && `header ${broken[0]} is not one line once its variables are put in`
}
