/** Whether a host, in brackets or not, is this machine alone. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host)
}

/** Whether a token may be sent to this address: no other machine reads it on the way. */
export function mayCarryTokens({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname)
}
