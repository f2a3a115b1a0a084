// How a client authenticates at a token endpoint (RFC 6749, section 2.3; RFC 7523, section 2.2).

import { createPrivateKey, webcrypto, type KeyObject } from 'node:crypto'
import type { AuthorizationServer, ClientAuth } from 'oauth4webapi'
import { LoginError } from './login-error.js'
import { basicField } from './login-http.js'
import { textsIn } from './metadata.js'

/** The proxy as a client of one authorization server. */
export interface LoginClient {
  readonly id: string
  /** Its secret, or its private key (PEM). */
  readonly secret: string | undefined
  /** How it authenticates at the token endpoint (RFC 8414, section 2). */
  readonly method: 'none' | 'client_secret_basic' | 'client_secret_post' | 'private_key_jwt'
  /** The id of the key, for servers that know several of this client. */
}

type Library = typeof import('oauth4webapi')

/** @throws LoginError for a key that cannot sign */
export async function authOf(
  { id, secret = '', method }: LoginClient,
  server: AuthorizationServer,
  library: Library,
): Promise<ClientAuth> {
  switch (method) {
    case 'none':
      return library.None()
    case 'client_secret_basic':
      return basic(id, secret)
    case 'client_secret_post':
      return library.ClientSecretPost(secret)
    case 'private_key_jwt': {
      const accepted = textsIn(server.token_endpoint_auth_signing_alg_values_supported)
      const key = await signingKey(secret, accepted)
      const modify = library.modifyAssertion
      return library.PrivateKeyJwt(key, {
        // Its other name is that of RFC 8037.
        [modify]: (header: Record<string, unknown>) => {
          if (header['alg'] === 'Ed25519' && !accepted.includes('Ed25519')) header['alg'] = 'EdDSA'
        },
      })
    }
  }
}

function basic(id: string, secret: string): ClientAuth {
  const field = basicField(id, secret)
  return (_server, _client, _body, headers) => headers.set('authorization', field)
}

/** `accepted` are the algorithms that the server names; none where it does not say. */
async function signingKey(pem: string, accepted: readonly string[]): Promise<webcrypto.CryptoKey> {
  const key = parsedKey(pem)
  const algorithm = algorithmOf(key, accepted)
  if (algorithm === undefined)
    throw new LoginError(
      `auth.clientKey is a key of the type ${key.asymmetricKeyType}; it must be EC (P-256, P-384, P-521), RSA or Ed25519`,
    )
  const bytes = key.export({ type: 'pkcs8', format: 'der' })
  return webcrypto.subtle.importKey('pkcs8', bytes, algorithm, false, ['sign'])
}

function parsedKey(pem: string): KeyObject {
  try {
    return createPrivateKey(pem)
  } catch {
    // The reason of the library may show parts of the key.
    throw new LoginError('auth.clientKey is no private key in PEM without a password')
  }
}

const curves = new Map([
  ['prime256v1', 'P-256'],
  ['secp384r1', 'P-384'],
  ['secp521r1', 'P-521'],
])

function algorithmOf(
  { asymmetricKeyType: type, asymmetricKeyDetails }: KeyObject,
  accepted: readonly string[],
): webcrypto.RsaHashedImportParams | webcrypto.EcKeyImportParams | { name: 'Ed25519' } | undefined {
  if (type === 'ed25519') return { name: 'Ed25519' }
  if (type === 'rsa') {
    const isPss = accepted.includes('PS256') && !accepted.includes('RS256')
    return { name: isPss ? 'RSA-PSS' : 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }
  }
  const namedCurve = curves.get(asymmetricKeyDetails?.namedCurve ?? '')
  return namedCurve === undefined ? undefined : { name: 'ECDSA', namedCurve }
}
