// Why a program does not reach what it asked for, and how it is told.

import { Buffer } from 'node:buffer'
import type { AllowedHosts } from './allowed-hosts.js'

/** Where a program wants to go. */
export interface Destination {
  /** As `hostName` gives it. */
  readonly host: string
  readonly port: number
}

export interface EgressRefusal {
  readonly kind: 'refusal'
  readonly status: 400 | 403 | 408 | 431 | 502 | 503 | 504
  /** In words, in ASCII. */
  readonly reason: string
  /** Undefined when it was not understood where to. */
  readonly to: Destination | undefined
  /** What is for whoever runs the service alone. */
  readonly detail?: string
}

export function refusal(
  status: EgressRefusal['status'],
  reason: string,
  to?: Destination,
  detail?: string,
): EgressRefusal {
  return { kind: 'refusal', status, reason, to, ...(detail !== undefined && { detail }) }
}

/** In one line. */
export function refusalText({ reason, to }: EgressRefusal): string {
  return to === undefined ? reason : `${to.host}:${to.port} ${reason}`
}

/** Many programs show nothing but the first line of an answer, so the reason stands there too. */
export function refusalResponse(refused: EgressRefusal, allowed: AllowedHosts): string {
  const text = refusalText(refused)
  const body = `${text}\nPrograms in this sandbox reach only the hosts of its key "network.allow", over https://: ${allowed.shown}\n`
  return [
    `HTTP/1.1 ${refused.status} ${text}`,
    'Content-Type: text/plain; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}
