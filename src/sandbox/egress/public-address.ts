// Which addresses are those of the public Internet.
//
// By the registries of special-purpose addresses (RFC 6890). Of IPv6 only what is assigned for unicast
// to the Internet counts, so that whatever carries an IPv4 address inside, or will be set apart some day, is refused:
// mapped and compatible ones, NAT64, 6to4, Teredo, unique local, link-local and multicast.

import { BlockList, isIP } from 'node:net'

/** Address, length of the prefix. */
const special4: readonly (readonly [network: string, bits: number])[] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
  // Looks public, and is the host's own agent on every machine of Azure.
  ['168.63.129.16', 32],
]

/** Within what is assigned for unicast to the Internet. */
const special6: readonly (readonly [network: string, bits: number])[] = [
  // Teredo, benchmarks, ORCHID.
  ['2001::', 23],
  ['2001:db8::', 32],
  // 6to4.
  ['2002::', 16],
  ['3fff::', 20],
]

const refused = new BlockList()
for (const [network, bits] of special4) refused.addSubnet(network, bits, 'ipv4')
for (const [network, bits] of special6) refused.addSubnet(network, bits, 'ipv6')

const unicast6 = new BlockList()
unicast6.addSubnet('2000::', 3, 'ipv6')

/** Whether it is an address that everybody on the Internet reaches at the same place. */
export function isPublicAddress(address: string): boolean {
  switch (isIP(address)) {
    case 4:
      return !refused.check(address, 'ipv4')
    case 6:
      return !address.includes('%') && unicast6.check(address, 'ipv6') && !refused.check(address, 'ipv6')
    default:
      return false
  }
}
