// Which addresses the requests of a login may reach.
//
// A server on the internet names its authorization server, and its metadata: it must not lead the proxy into the network of the
// person, to this machine, or to the metadata server of a cloud, neither by an address nor by a name that resolves to one.

import { type LookupAddress, lookup } from 'node:dns'
import { type LookupFunction, isIP } from 'node:net'
import { type AddressKind, addressKind } from '../text/address-kind.js'
import { LoginError } from './login-error.js'

/** The addresses that the servers of a login may have, beside public ones. */
export interface Reach {
  /** @throws LoginError for an address that is not allowed */
  check(url: URL): void
  /** Resolves names to allowed addresses only. */
  readonly lookup: LookupFunction
}

/** The reach of the login of this server: addresses of the kind that its own are. */
export async function reachOf(server: URL): Promise<Reach> {
  const own = await ownKind(server)
  const isAllowed = (address: string): boolean => {
    const kind = addressKind(address)
    return kind === 'public' || kind === own || (kind === 'private' && own === 'loopback')
  }
  return {
    check: (url) => {
      const host = url.hostname.replace(/^\[|\]$/g, '')
      if (isIP(host) !== 0 && !isAllowed(host)) throw new LoginError(`${url.origin} is not asked: ${refusal}`)
    },
    lookup: (name, options, done) =>
      lookup(name, { ...options, all: true }, (error, found) => {
        const allowed = error === null ? found.filter(({ address }) => isAllowed(address)) : []
        const [first] = allowed
        if (first === undefined) done(error ?? new Error(refusal), options.all === true ? [] : '')
        else if (options.all === true) done(null, allowed)
        else done(null, first.address, first.family)
      }),
  }
}

const refusal = 'its address is one of this network or machine, and that of the server is not'

/** Public unless all its addresses are of another kind; one that cannot be resolved here is public. */
async function ownKind({ hostname }: URL): Promise<AddressKind> {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (isIP(host) !== 0) return addressKind(host)
  const found = await new Promise<readonly LookupAddress[]>((resolve) =>
    lookup(host, { all: true }, (error, addresses) => resolve(error === null ? addresses : [])),
  )
  const [first, ...others] = found.map(({ address }) => addressKind(address))
  return first !== undefined && others.every((kind) => kind === first) ? first : 'public'
}
