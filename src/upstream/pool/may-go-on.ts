// Whether a server may be at work on a call whose answer does not come.

import type { TransportError } from '../../jsonrpc/errors.js'

/** Said by who stands before the server, and had no answer of it in time (RFC 9110, 15.6.3 and 15.6.5). */
const gatewayStatuses: readonly unknown[] = [502, 504]

/** Whether the call may have reached the server, which has not said that it is done with it. */
export function mayGoOn({ code, details }: TransportError): boolean {
  switch (code) {
    case 'TRANSPORT_CLOSED':
    case 'TRANSPORT_IO':
    case 'TRANSPORT_TIMEOUT':
      return true
    case 'TRANSPORT_STATUS':
      return gatewayStatuses.includes(details?.['status'])
    case 'TRANSPORT_TAP':
    case 'TRANSPORT_ANSWER':
    case 'TRANSPORT_AUTH':
    case 'TRANSPORT_UNREACHABLE':
    case 'TRANSPORT_SESSION':
    case 'TRANSPORT_TOKEN':
      return false
  }
}
