// What a web page of another origin may do (Fetch standard, CORS protocol).

import type { OutgoingHttpHeaders } from 'node:http'

export interface CorsRules {
  readonly enabled: boolean
  /** `*` is any. */
  readonly origins: readonly string[]
  readonly methods: readonly string[]
  readonly credentials: boolean
  readonly allowedHeaders: readonly string[]
}

/** Without these a page could not speak the protocol at all. */
const protocolHeaders = ['Accept', 'Content-Type', 'Last-Event-ID', 'MCP-Protocol-Version', 'Mcp-Session-Id']
const exposedHeaders = 'Mcp-Session-Id, WWW-Authenticate'

/** How long a browser may remember the answer to a preflight; Chrome keeps none longer. */
const PREFLIGHT_AGE_S = 7200

export function names(origins: readonly string[], origin: string): boolean {
  return origins.some((each) => each.toLowerCase().replace(/\/$/, '') === origin)
}

/**
 * The fields for a page whose origin was let in.
 *
 * Its own origin is echoed, never `*`: with `*` a browser would refuse
 * credentials, and a shared cache could not tell pages apart.
 */
export function corsHeaders(rules: CorsRules, origin: string | undefined): OutgoingHttpHeaders {
  if (!rules.enabled || origin === undefined) return {}
  const allowed = rules.origins.includes('*') || names(rules.origins, origin)
  if (!allowed) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-expose-headers': exposedHeaders,
    // An origin that stands for all others is no one to trust with credentials.
    ...(rules.credentials && names(rules.origins, origin) && { 'access-control-allow-credentials': 'true' }),
  }
}

/** What is added for a preflight. */
export function preflightHeaders(rules: CorsRules): OutgoingHttpHeaders {
  const headers = new Map(
    [...protocolHeaders, ...rules.allowedHeaders].map((name) => [name.toLowerCase(), name]),
  )
  return {
    'access-control-allow-methods': rules.methods.join(', '),
    'access-control-allow-headers': [...headers.values()].join(', '),
    'access-control-max-age': String(PREFLIGHT_AGE_S),
  }
}
