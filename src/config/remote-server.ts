import type {
  HttpServerConfig,
  LoginSettings,
  ServerCommon,
  UnattendedGrant,
} from '../upstream/contracts/server-config.js'
import { ownPath } from './file.js'
import { secretsOfHeaders, secretsOfUrl } from './secrets.js'
import { httpFields, remoteRules, sseFields } from './server-keys.js'
import { type Location, type ValuesOf, checkRules, readValues } from './values.js'

type Values = ValuesOf<typeof httpFields>
type AuthValues = NonNullable<Values['auth']>

export function readHttp(kind: 'http' | 'sse', at: Location, common: ServerCommon): HttpServerConfig {
  checkRules(httpFields, at, remoteRules)
  const values = readValues(httpFields, at)
  const { headers, proxy, auth, tls, retryDelayMs } = values
  const url = values.url ?? values.serverUrl ?? values.httpUrl ?? ''
  const login = readLogin(at, url, values)
  // Event streams use `maxRetries`, or `retries` if only that is given.
  const sse = readValues(sseFields, at, at.has('retries') ? { maxRetries: values.retries } : {})
  return {
    kind,
    ...common,
    url,
    headers: Object.fromEntries(headers),
    retryDelayMs,
    retries: kind === 'http' ? values.retries : sse.maxRetries,
    reconnectIntervalMs: sse.reconnectIntervalMs,
    auth: auth && {
      type: auth.type,
      audience: auth.audience,
      impersonateServiceAccount: auth.impersonateServiceAccount,
    },
    login,
    proxy,
    tls,
  }
}

/** A remote server may use a login, unless the configuration has other credentials for it. */
function readLogin(at: Location, url: string, { headers, auth, oauth }: Values): LoginSettings | undefined {
  const hasToken = [...headers.keys()].some((name) => name.toLowerCase() === 'authorization')
  if (auth?.type === 'oauth' && hasToken)
    at.at('headers').warn('has "Authorization", which is sent in place of the token of a login')
  if (auth !== undefined) checkGrant(at.at('auth'), auth)
  if (auth?.perUser === true) checkPerUser(at, auth, hasToken)
  if (hasToken || (auth !== undefined && auth.type !== 'oauth')) return undefined
  const isAsked = auth !== undefined || oauth !== undefined
  if (!isAsked && [...secretsOfHeaders(headers), ...secretsOfUrl(url)].length > 0) return undefined
  return {
    folder: ownPath(at.reading.home, 'auth'),
    clientId: auth?.clientId ?? oauth?.clientId,
    clientSecret: auth?.clientSecret ?? oauth?.clientSecret,
    clientKey: auth?.clientKey,
    clientMetadataUrl: auth?.clientMetadataUrl,
    scope: auth?.scope ?? oauth?.scopes?.join(' '),
    issuer: auth?.issuer,
    assumesPkce: auth?.pkce === 'assume',
    metadataUrl: oauth?.authServerMetadataUrl,
    resource: auth?.resource,
    callbackPort: auth?.callbackPort ?? oauth?.callbackPort,
    isAutomatic: auth?.login !== 'manual' && auth?.grant !== 'device',
    isByDevice: auth?.grant === 'device',
    isPerUser: auth?.perUser === true,
    unattended: auth && unattendedGrant(auth),
  }
}

/** A grant without a person needs credentials in the configuration. */
function checkGrant(at: Location, { grant }: AuthValues): void {
  const needs = (expected: string, ...keys: readonly string[]): void => {
    if (!keys.some((key) => at.has(key)))
      at.at(keys[0] ?? '').problem(`is missing beside the grant ${grant}`, `must be ${expected}`)
  }
  if (at.has('assertion') && at.has('assertionFile'))
    at.at('assertion').problem('stands beside "assertionFile"', 'keep one of them')
  if (grant === 'code' || grant === 'device') return
  needs('the id of the client at the authorization server', 'clientId')
  if (grant === 'client_credentials')
    needs('the secret of the client; or write its private key in "clientKey"', 'clientSecret', 'clientKey')
  else
    needs('the token that is shown; or name a file with it in "assertionFile"', 'assertion', 'assertionFile')
  if (grant === 'id_jag')
    needs('like { "issuer": "https://idp.example.com", "clientId": "…" }', 'identityProvider')
}

/** A server with a login per user cannot share a token or a session between users. */
function checkPerUser(at: Location, { type, grant }: AuthValues, hasToken: boolean): void {
  const place = at.at('auth').at('perUser')
  if (hasToken || type !== 'oauth')
    place.problem(
      'has no login to which it belongs',
      'needs "type": "oauth", and no "Authorization" in "headers"',
    )
  else if (grant !== 'code' && grant !== 'device')
    place.problem(`stands beside the grant ${grant}, in which no user takes part`, 'keep one of them')
  if (at.at('isolation').value === 'shared')
    at.at('isolation').problem(
      'is "shared" beside "auth.perUser"',
      'users with logins of their own share no session; remove one of them',
    )
}

function unattendedGrant({
  grant: kind,
  assertion,
  assertionFile,
  identityProvider,
}: AuthValues): UnattendedGrant | undefined {
  if (kind === 'code' || kind === 'device') return undefined
  return { kind, assertion, assertionFile, identityProvider }
}
