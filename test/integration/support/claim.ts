// The `_meta` of requests of 2026-07-28.

/** The name of a member of `_meta`. */
export const metaKey = (name: string): string => `io.modelcontextprotocol/${name}`

/** The members of `_meta` of a client with these capabilities. */
export const claim = (capabilities: object = {}, name?: string): object => ({
  [metaKey('protocolVersion')]: '2026-07-28',
  [metaKey('clientCapabilities')]: capabilities,
  ...(name !== undefined && { [metaKey('clientInfo')]: { name, version: '1' } }),
})
