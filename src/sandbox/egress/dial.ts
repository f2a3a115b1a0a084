// A connection from the host to where a program wants to go.
//
// The name is looked up once, and what was looked at is what is connected to: an answer that changes with
// every question leads nowhere else. The networks of this host are refused like private ones: its neighbours, and what
// listens on all of its own addresses, may rely on a wall outside.

import { BlockList, connect, isIP } from 'node:net'
import { type NetworkInterfaceInfo, networkInterfaces } from 'node:os'
import type { Duplex } from 'node:stream'
import type { Connect, Runtime } from '../../runtime/runtime.js'
import { within } from '../../runtime/within.js'
import { resolveName } from './lookup.js'
import { isPublicAddress } from './public-address.js'
import { type Destination, type EgressRefusal, refusal } from './refusal.js'

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
    const detail = error instanceof Error ? error.message : String(error)
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
