// ID tokens for services behind Google's IAM, from Application Default Credentials.
//
// Only this file uses `google-auth-library`. The package is optional and large, so it
// is loaded when a server needs it. The library gets tokens for service accounts, users,
// impersonation and the metadata server. It has no way for external accounts, so the
// proxy exchanges their federated token at the service account that their file names.

import type { AuthClient, GoogleAuth as Library } from 'google-auth-library'
import { TransportError } from '../../jsonrpc/jsonrpc-errors.js'
import type { GoogleAuth } from './id-token-credentials.js'
import { write } from '../../jsonrpc/text.js'

const CLOUD_SCOPE = 'https://www.googleapis.com/auth/cloud-platform'

/** Gets a new token at each call. Rejects with TransportError, whose message contains no secret. */
export type FetchIdToken = () => Promise<string>

/** Finds credentials by Google's rules; tests replace `fetch`. @throws TransportError if there are none */
export async function findGoogleCredentials(
  auth: GoogleAuth,
  fetch?: typeof globalThis.fetch,
): Promise<FetchIdToken> {
  const library = await load()
  // The library asks the metadata server with its own instance, which has only these defaults.
  library.gaxios.instance.defaults.noProxy = withoutProxy
  const google = new library.GoogleAuth({
    // The proxy needs no project. Without this name the library would search for one on the network.
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
        : 'Authentication failed: the response is not an ID token',
    )
  }
}

/**
 * Addresses that the library must not reach through the proxy of the environment: metadata servers of Google
 * and of other clouds, and this machine.
 */
const withoutProxy = [
  /\/computeMetadata\/v1\b/,
  /^https?:\/\/(?:[^/@]*@)?(?:localhost|127(?:\.\d+){3}|169\.254(?:\.\d+){2}|\[(?:::1|fe[89ab][\da-f]:[^\]]*|fd00:ec2::254)\]|metadata\.google\.internal\.?)(?:[:/]|$)/,
]

/** The form of a token after `Bearer` (RFC 6750, section 2.1). */
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

/** An external account requests the token as the service account that it impersonates. */
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

/** Replaces errors of the library, because they contain requests with secrets. */
async function said<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw error instanceof TransportError ? error : tokenFailure(error)
  }
}

export const noCredentials =
  'No credentials found. Please run "gcloud auth application-default login" or set the GOOGLE_APPLICATION_CREDENTIALS environment variable.'

const expired = /invalid_grant|invalid_rapt|reauth/i

/** The message of a parser, which may quote a part of a key. */
const unreadable = /is not valid JSON|in JSON at position|of JSON input/

const noFile = /\b(?:ENOENT|EACCES|EISDIR|EPERM)\b/

/** The network fails, or a host on the way takes too long. */
const passing =
  /^E(?!NOENT|ACCES|ISDIR|PERM)[A-Z]{4,}|fetch failed|socket hang up|aborted|timed? ?out|\breason: /i

/**
 * The error for a failed request for a token; `TRANSPORT_TOKEN` is a temporary failure.
 *
 * Answers and messages may repeat tokens and keys, so the error shows only the host, the status and codes.
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

/** The host, the status, and the code, which OAuth and other services of Google write in different places. */
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
