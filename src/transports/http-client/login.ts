// A name and a password in an address, as they are sent (RFC 7617).

import { Buffer } from 'node:buffer'

/** The value of `Authorization`; undefined where the address has no name. */
export function basicLogin({ username, password }: URL): string | undefined {
  if (username === '' && password === '') return undefined
  const pair = `${decoded(username)}:${decoded(password)}`
  return `Basic ${Buffer.from(pair).toString('base64')}`
}

/** The texts of a login that must not be logged. */
export function loginSecrets(url: URL): string[] {
  const login = basicLogin(url)
  return login === undefined ? [] : [url.password, decoded(url.password), login.slice('Basic '.length)]
}

/** What looks like an escape and is none stands for itself. */
function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
