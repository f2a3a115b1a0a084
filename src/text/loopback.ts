/** Whether a host, with or without brackets, is this machine. */
export function isLoopback(host: string): boolean {
  return /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host)
}

/** Whether a token may be sent to this address, because no other machine can read it on the way. */
export function mayCarryTokens({ protocol, hostname }: URL): boolean {
  return protocol === 'https:' || isLoopback(hostname)
}
