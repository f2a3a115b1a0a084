// ID tokens for services behind Google's IAM, from Application Default Credentials.
//
// The one file that knows `google-auth-library`, which is optional and large, and
// is loaded when a server needs it. The credentials decide how a token is got:
// service accounts, users, impersonation and the metadata server have a way of
// their own; external accounts have none in that library, so their federated
// token is exchanged at the service account that their file names.

import type { AuthClient, GoogleAuth as Library } from 'google-auth-library'
import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { GoogleAuth } from './id-token-credentials.js'
import { write } from '../../jsonrpc/text.js'

const CLOUD_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Gets a new token each time it is asked. Rejects with TransportError, whose message holds nothing secret. */
export type FetchIdToken = () => Promise<string>

/** Finds credentials by Google's rules; `fetch` takes the place of the network in tests. @throws TransportError when there are none */
export async function findGoogleCredentials(
  auth: GoogleAuth,
  fetch?: typeof globalThis.fetch,
): Promise<FetchIdToken> {
  const library = await load()
  // The metadata server is asked by the library's own instance, and only that knows the defaults.
  library.gaxios.instance.defaults.noProxy = withoutProxy
  const google = new library.GoogleAuth({
    // The project is not needed; without a name the library would look for it over the network.
    projectId: 'unused',
    ...(auth.impersonate !== undefined && { scopes: CLOUD_SCOPE }),
    clientOptions: {
      transporterOptions: {
        noProxy: withoutProxy,
        ...(fetch !== undefined && { fetchImplementation: fetch }),
      },
    },
  })
  const client = await said(() => google.getClient())
  const fetchToken = await said(() => fetcher(library, google, client, auth))
  return async () => {
    const given = await said(fetchToken)
    const token = typeof given === 'string' ? given.trim() : ''
    if (bearer.test(token)) return token
    throw authError(
      token === ''
        ? `The credentials give no ID token; ${WITHOUT_ID_TOKEN}`
        : 'Authentication failed: what was given as an ID token is none',
    )
  }
}

/**
 * Addresses that are never asked through a proxy, which the library finds in the environment by itself: metadata servers, of
 * Google wherever they are and of others on their link, and this machine.
 */
const withoutProxy = [
  /\/computeMetadata\/v1\b/,
  /^https?:\/\/(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|169\.254(?:\.\d+){2}|\[(?:::1|fe[89ab][\da-f]:[^\]]*|fd00:ec2::254)\]|metadata\.google\.internal\.?)(?:[:/]|$)/,
]

/** The form of a token behind `Bearer` (RFC 6750, section 2.1). */
const bearer = /^[\w.~+/-]+=*$/

const WITHOUT_ID_TOKEN =
  'use a service account, or --impersonate-service-account (auth.impersonateServiceAccount) with an account that may be impersonated'

type Module = typeof import('google-auth-library')

async function load(): Promise<Module> {
  try {
    return await import('google-auth-library')
  } catch {
    throw authError(
      'Google credentials need the optional package google-auth-library, which is not installed',
    )
  }
}

async function fetcher(
  library: Module,
  google: Library,
  client: AuthClient,
  { audience, impersonate }: GoogleAuth,
): Promise<() => Promise<unknown>> {
  if (impersonate !== undefined) {
    const options = { sourceClient: client, targetPrincipal: impersonate, targetScopes: [CLOUD_SCOPE] }
    const impersonated = new library.Impersonated(options)
    return () => impersonated.fetchIdToken(audience)
  }
  if (hasIdTokens(client)) return () => client.fetchIdToken(audience)
  return federated(google, audience)
}

function hasIdTokens(client: object): client is { fetchIdToken(audience: string): Promise<unknown> } {
  return 'fetchIdToken' in client && typeof client.fetchIdToken === 'function'
}

/** An external account asks for the token as the service account that it impersonates. */
function federated(google: Library, audience: string): () => Promise<unknown> {
  const json = google.jsonContent
  if (json === null || json.type !== 'external_account' || !('subject_token_type' in json))
    throw authError(`This kind of credentials gives no ID tokens; ${WITHOUT_ID_TOKEN}`)
  const { service_account_impersonation_url: impersonation, ...own } = json
  if (impersonation === undefined)
    throw authError(`Credentials without a service account give no ID tokens; ${WITHOUT_ID_TOKEN}`)
  const client = google.fromJSON(own)
  const url = impersonation.replace(/:generateAccessToken$/, ':generateIdToken')
  return async () => {
    const { data } = await client.request<{ token?: unknown }>({
      url,
      method: 'POST',
      data: { audience, includeEmail: true },
    })
    return data.token
  }
}

/** Errors of the library hold requests, and those hold secrets. */
async function said<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof TransportError ? error : tokenFailure(error)
  }
}

export const noCredentials =
  'No credentials found. Please run "gcloud auth application-default login" or set the GOOGLE_APPLICATION_CREDENTIALS environment variable.'

/** The login of a person, or the key of a service account, does not hold any more. */
const expired = /invalid_grant|invalid_rapt|reauth/i

/** A parser cites what it cannot read, which may be a part of a key. */
const unreadable = /is not valid JSON|in JSON at position|of JSON input/

const noFile = /\b(?:ENOENT|EACCES|EISDIR|EPERM)\b/

/** The network does not work, or a host on the way takes too long. */
const passing =
  /^E(?!NOENT|ACCES|ISDIR|PERM)[A-Z]{4,}|fetch failed|socket hang up|aborted|timed? ?out|\breason: /i

/**
 * The error for a failed request for a token; `TRANSPORT_TOKEN` is a failure that passes.
 *
 * Answers and messages may repeat tokens and keys, so only the host, the status and codes are shown.
 */
function tokenFailure(error: unknown): TransportError {
  const message = error instanceof Error ? error.message : ''
  if (message.startsWith('Could not load the default credentials')) return authError(noCredentials)
  const status = member(member(error, 'response'), 'status')
  const code = String(member(error, 'code'))
  const isPassing =
    typeof status === 'number'
      ? status >= 500 || status === 429 || status === 408
      : passing.test(`${code} ${message}`)
  const why = typeof status === 'number' ? refusalOf(error, status) : troubleOf(message, code)
  const text = `no ID token: ${why}`
  return isPassing ? new TransportError('TRANSPORT_TOKEN', text) : authError(`Authentication failed: ${text}`)
}

/** The host, the status, and the code, which OAuth and the other services of Google write in different places. */
function refusalOf(error: unknown, status: number): string {
  const url = String(member(member(error, 'config'), 'url'))
  const host = URL.canParse(url) ? new URL(url).host : 'the token service'
  const answer = member(member(error, 'response'), 'data')
  const inner = member(answer, 'error')
  const code = [inner, member(inner, 'status')].find((each) => /^[a-z_]{1,40}$/i.test(String(each)))
  const how = `${host} answered HTTP ${status}${typeof code === 'string' ? `: ${code}` : ''}`
  return expired.test(write(answer ?? null))
    ? `${how}; run "gcloud auth application-default login", or make a new key`
    : how
}

function troubleOf(message: string, code: string): string {
  if (unreadable.test(message)) return 'the file with the credentials must be JSON'
  if (noFile.test(message)) return message
  return /^[A-Z_]+$/.test(code) ? code : 'the answer holds none'
}

function member(value: unknown, key: string): unknown {
  return typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined
}

function authError(message: string): TransportError {
  return new TransportError('TRANSPORT_AUTH', message)
}
