// A connection from the host to the destination of a program.
//
// The service resolves the name once and connects to the addresses that it has checked, so a DNS server that
// changes its answers gains nothing. The service also refuses the networks of this host: its neighbours, and
// servers that listen on all its addresses, may rely on an outer firewall.

import { Resolver } from 'node:dns/promises'
import { BlockList, connect, isIP } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Connect, Resolve, Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/deadline.js'
import { isPublicAddress } from '../../text/address-kind.js'
import { type Destination, EgressRefusal } from './allowed-hosts.js'
import { errorText } from '../../text/error-text.js'

const LOOKUP_MS = 10_000

const CONNECT_MS = 10_000

const TRIES_MAX = 3

/** The most addresses of one name that are checked. A DNS server may send thousands, and each check takes time. */
const ADDRESSES_MAX = 64

export type EgressRuntime = Pick<Runtime, 'now' | 'setTimer' | 'connect' | 'resolve'>

/** @throws EgressRefusal */
export async function dial(to: Destination, runtime: EgressRuntime, signal: AbortSignal): Promise<Duplex> {
  const addresses = await addressesOf(to, runtime, signal)
  const own = ownNetworks()
  const open = addresses.filter((address) => isPublicAddress(address) && !isIn(own, address))
  if (open.length === 0)
    throw new EgressRefusal(403, 'has no public address', to, addresses.slice(0, TRIES_MAX).join(', '))
  for (const host of open.slice(0, TRIES_MAX)) {
    if (signal.aborted) break
    const socket = (runtime.connect ?? connectTo)({ host, port: to.port, isTls: false })
    if (await isConnected(socket, runtime, signal)) return socket
  }
  throw new EgressRefusal(502, 'cannot be reached: no connection was made', to)
}

const connectTo: Connect = ({ host, port }) =>
  connect({ host, port, noDelay: true, keepAlive: true, allowHalfOpen: true })

async function addressesOf(to: Destination, runtime: EgressRuntime, signal: AbortSignal): Promise<string[]> {
  const resolve = runtime.resolve ?? resolveName
  const resolved = resolve(to.host, signal).catch((error: unknown) => {
    throw new EgressRefusal(502, 'cannot be reached: its name was not found', to, errorText(error))
  })
  const found = await within(resolved, LOOKUP_MS, runtime)
  if (found === undefined)
    throw new EgressRefusal(504, 'cannot be reached: its name was not found in time', to)
  return found.slice(0, ADDRESSES_MAX)
}

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

/** Destroys the socket if it does not connect in time, or if the caller aborts. */
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

// The addresses of a name, from the DNS servers of this host.
//
// The resolver asks for the unchanged name: it adds no search domains and reads no hosts file. It does not use
// the threads of Node, which also read files.

/** The timeout in milliseconds of one question to one server, and how often the question is sent. */
const QUESTION = { timeout: 2000, tries: 2 } as const

/** Returns IPv4 addresses first, because more networks forward them. Rejects if no address exists. */
const resolveName: Resolve = async (name, signal) => {
  // A new resolver uses the current servers, and can be cancelled alone.
  const resolver = new Resolver(QUESTION)
  const cancel = (): void => resolver.cancel()
  signal.addEventListener('abort', cancel, { once: true })
  try {
    const answers = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    const [failed] = answers.filter((answer) => answer.status === 'rejected')
    if (addresses.length === 0) throw new Error(errorText(failed?.reason), { cause: failed?.reason })
    return addresses
  } finally {
    signal.removeEventListener('abort', cancel)
  }
}
