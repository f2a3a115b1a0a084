// A connection from the host to where a program wants to go.
//
// The name is looked up once, and what was looked at is what is connected to: an answer that changes with
// every question leads nowhere else. The networks of this host are refused like private ones: its neighbours, and what
// listens on all of its own addresses, may rely on a wall outside.

import { Resolver } from 'node:dns/promises'
import { BlockList, connect, isIP } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Connect, Resolve, Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { type Destination, type EgressRefusal, refusal } from './proxy-request.js'
import { errorText } from '../../text/error-text.js'

/** Servers of the DNS are asked twice within this. */
const LOOKUP_MS = 10_000

/** Of one address. */
const CONNECT_MS = 10_000

/** Addresses of one name that are tried. */
const TRIES_MAX = 3

/** Addresses of one name that are looked at: whoever answers for it may send thousands, and each look takes time. */
const ADDRESSES_MAX = 64

export type EgressRuntime = Pick<Runtime, 'now' | 'setTimer' | 'connect' | 'resolve'>

/** An open connection, or why there is none; `signal` gives it up. */
export async function dial(
  to: Destination,
  runtime: EgressRuntime,
  signal: AbortSignal,
): Promise<Duplex | EgressRefusal> {
  const addresses = await addressesOf(to, runtime, signal)
  if (!Array.isArray(addresses)) return addresses
  const own = ownNetworks()
  const open = addresses.filter((address) => isPublicAddress(address) && !isIn(own, address))
  if (open.length === 0)
    return refusal(403, 'has no public address', to, addresses.slice(0, TRIES_MAX).join(', '))
  for (const host of open.slice(0, TRIES_MAX)) {
    if (signal.aborted) break
    const socket = (runtime.connect ?? connectTo)({ host, port: to.port, isTls: false })
    if (await isConnected(socket, runtime, signal)) return socket
  }
  return refusal(502, 'cannot be reached: no connection was made', to)
}

const connectTo: Connect = ({ host, port }) =>
  connect({ host, port, noDelay: true, keepAlive: true, allowHalfOpen: true })

async function addressesOf(
  to: Destination,
  runtime: EgressRuntime,
  signal: AbortSignal,
): Promise<string[] | EgressRefusal> {
  const resolve = runtime.resolve ?? resolveName
  try {
    const found = await within(resolve(to.host, signal), LOOKUP_MS, runtime)
    return found === undefined
      ? refusal(504, 'cannot be reached: its name was not found in time', to)
      : found.slice(0, ADDRESSES_MAX)
  } catch (error) {
    const detail = errorText(error)
    return refusal(502, 'cannot be reached: its name was not found', to, detail)
  }
}

/** Those that this host is a part of. */
export function ownNetworks(
  interfaces: Readonly<Record<string, readonly NetworkInterfaceInfo[] | undefined>> = networkInterfaces(),
): BlockList {
  const networks = new BlockList()
  for (const { address, cidr, family } of Object.values(interfaces).flatMap((all) => all ?? [])) {
    const bits = Number(cidr?.split('/')[1] ?? (family === 'IPv4' ? 32 : 128))
    networks.addSubnet(address, bits, family === 'IPv4' ? 'ipv4' : 'ipv6')
  }
  return networks
}

export function isIn(networks: BlockList, address: string): boolean {
  return networks.check(address, isIP(address) === 4 ? 'ipv4' : 'ipv6')
}

/** One that is not connected in time, or is no longer wanted, is gone. */
async function isConnected(socket: Duplex, runtime: EgressRuntime, signal: AbortSignal): Promise<boolean> {
  const opening = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true))
    socket.on('error', () => resolve(false))
    socket.once('close', () => resolve(false))
    signal.addEventListener('abort', () => resolve(false), { once: true })
  })
  const isOpen = (await within(opening, CONNECT_MS, runtime)) === true && !signal.aborted
  if (!isOpen) socket.destroy()
  return isOpen
}

// The addresses of a name, from the servers of the DNS that this host asks.
//
// Names are asked for as they are: without the domains that a host may add to them, and without its own file of
// names. Nothing waits in the threads of Node, which read files too.

/** Of one question to one server, and how often it is asked. */
const QUESTION = { timeout: 2000, tries: 2 } as const

/** Those of IPv4 first, which more networks pass on; rejects when there are none. */
const resolveName: Resolve = async (name, signal) => {
  // One of its own: it knows the servers of now, and can be given up alone.
  const resolver = new Resolver(QUESTION)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0) throw failureOf(answers)
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}

function failureOf(answers: readonly PromiseSettledResult<unknown>[]): Error {
  const [first] = answers.flatMap((answer): unknown[] =>
    answer.status === 'rejected' ? [answer.reason] : [],
  )
  return first instanceof Error ? first : new Error('the name has no address')
}

// Which addresses are those of the public Internet.
//
// By the registries of special-purpose addresses (RFC 6890). Of IPv6 only what is assigned for unicast
// to the Internet counts, so that whatever carries an IPv4 address inside, or will be set apart some day, is refused:
// mapped and compatible ones, NAT64, 6to4, Teredo, unique local, link-local and multicast.

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
