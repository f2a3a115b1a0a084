// Which addresses the requests of a login may reach.
//
// A server on the internet names its authorization server, and its metadata: it must not lead the proxy into the network of the
// person, to this machine, or to the metadata server of a cloud, neither by an address nor by a name that resolves to one.

import { type LookupAddress, lookup } from 'node:dns'
import { BlockList, type LookupFunction, isIP } from 'node:net'
import { LoginError } from './login-error.js'

/** `link-local` is where clouds have their metadata servers. */
export type AddressKind = 'loopback' | 'link-local' | 'private' | 'public'

/** Lists of addresses by the IANA registries of special-purpose addresses (RFC 6890), and what stands for an IPv4 address. */
const ranges: readonly (readonly [AddressKind, string])[] = [
  // The unspecified address connects to this machine.
  ['loopback', '0.0.0.0/8 127.0.0.0/8 ::/128 ::1/128'],
  ['link-local', '169.254.0.0/16 fe80::/10 fd00:ec2::254/128'],
  ['private', '10.0.0.0/8 100.64.0.0/10 172.16.0.0/12 192.0.0.0/24 192.168.0.0/16 198.18.0.0/15'],
  ['private', '224.0.0.0/4 240.0.0.0/4'],
  // Unique local, site-local, multicast, Teredo, and translation within a network.
  ['private', 'fc00::/7 fec0::/10 ff00::/8 2001::/32 64:ff9b:1::/48'],
]

const lists: readonly (readonly [AddressKind, BlockList])[] = ranges.map(([kind, subnets]) => {
  const list = new BlockList()
  for (const subnet of subnets.split(' ')) {
    const [net = '', bits] = subnet.split('/')
    list.addSubnet(net, Number(bits), isIP(net) === 4 ? 'ipv4' : 'ipv6')
  }
  return [kind, list] as const
})

/** A text that is no address counts as private. */
export function addressKind(address: string): AddressKind {
  const [bare = ''] = address.replace(/^\[|\]$/g, '').split('%')
  const text = embeddedIn(bare) ?? bare
  const family = isIP(text)
  if (family === 0) return 'private'
  const type = family === 4 ? 'ipv4' : 'ipv6'
  return lists.find(([, list]) => list.check(text, type))?.[0] ?? 'public'
}

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

/** The IPv4 address in one of IPv6: mapped, compatible, of NAT64 (RFC 6052) and of 6to4 (RFC 3056). */
function embeddedIn(address: string): string | undefined {
  if (isIP(address) !== 6) return undefined
  const groups = groupsOf(address)
  const at = [0, 0, 0, 0, 0].every((zero, index) => groups[index] === zero)
  const isNat64 =
    groups[0] === 0x64 && groups[1] === 0xff9b && groups.slice(2, 6).every((group) => group === 0)
  const isMapped = at && (groups[5] === 0xffff || (groups[5] === 0 && (groups[6] ?? 0) > 0))
  const from = groups[0] === 0x2002 ? 1 : isNat64 || isMapped ? 6 : undefined
  if (from === undefined) return undefined
  const [high = 0, low = 0] = groups.slice(from, from + 2)
  return [high >> 8, high & 255, low >> 8, low & 255].join('.')
}

/** The eight groups of an address of IPv6, as WHATWG's URL writes it. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const [first, last] = [numbers(head), numbers(tail ?? '')]
  const zeros = Array.from({ length: Math.max(0, 8 - first.length - last.length) }, () => 0)
  return [...first, ...zeros, ...last]
}

function numbers(text: string): number[] {
  return text === '' ? [] : text.split(':').map((group) => Number.parseInt(group, 16))
}
