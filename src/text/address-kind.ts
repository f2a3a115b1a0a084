// The network kind of an IP address, for logins and for programs of the sandbox.

import ipaddr from 'ipaddr.js'

/** Clouds offer credentials of the machine at `link-local` addresses. */
export type AddressKind = 'loopback' | 'link-local' | 'private' | 'public'

/** These addresses look private or public, but belong to agents of cloud machines: AWS over IPv6, Azure. */
const agents: ReadonlySet<string> = new Set(['fd00:ec2::254', '168.63.129.16'])

/** Global unicast: the only block of IPv6 from which public addresses are assigned (RFC 4291, section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')

/** An IPv4 address inside an IPv6 address decides the kind. A text that is no address is private. */
export function addressKind(text: string): AddressKind {
  const address = parsed(text.replace(/^\[|\]$/g, ''))
  if (address === undefined) return 'private'
  return kindOf(embeddedIn(address) ?? address)
}

/** Whether the address leads to the same machine from everywhere on the Internet, without translation. */
export function isPublicAddress(text: string): boolean {
  const address = text.includes('%') ? undefined : parsed(text)
  return address !== undefined && embeddedIn(address) === undefined && kindOf(address) === 'public'
}

type Address = ipaddr.IPv4 | ipaddr.IPv6

function parsed(text: string): Address | undefined {
  const isAddress = ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text)
  return isAddress ? ipaddr.parse(text) : undefined
}

function kindOf(address: Address): AddressKind {
  if (agents.has(address.toString())) return 'link-local'
  const range = address.range()
  if (range === 'unicast')
    return address instanceof ipaddr.IPv4 || address.match(globalUnicast) ? 'public' : 'private'
  if (range === 'linkLocal') return 'link-local'
  // The unspecified address connects to this machine.
  return range === 'loopback' || range === 'unspecified' ? 'loopback' : 'private'
}

/** Returns the IPv4 address in an IPv6 address: mapped, compatible, NAT64 (RFC 6052) or 6to4 (RFC 3056). */
function embeddedIn(address: Address): ipaddr.IPv4 | undefined {
  if (address instanceof ipaddr.IPv4) return undefined
  const bytes = address.toByteArray()
  const { parts } = address
  const isCompatible = parts.slice(0, 6).every((part) => part === 0) && (parts[6] ?? 0) > 0
  const isNat64 = address.range() === 'rfc6052' && parts[2] === 0
  const at =
    parts[0] === 0x2002 ? 2 : isCompatible || isNat64 || address.isIPv4MappedAddress() ? 12 : undefined
  return at === undefined ? undefined : new ipaddr.IPv4(bytes.slice(at, at + 4))
}
