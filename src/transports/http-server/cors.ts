// The CORS header fields for web pages of other origins (Fetch standard, CORS protocol).

import type { Fields } from './response.js'

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
const ALLOWED = 'access-control-allow-origin'
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
export function corsHeaderFields(rules: CorsRules, origin: string | undefined): Fields {
  if (!rules.enabled || origin === undefined) return []
  const isAllowed = rules.origins.includes('*') || names(rules.origins, origin)
  if (!isAllowed) return ['vary', 'Origin']
  const fields = ['vary', 'Origin', ALLOWED, origin, 'access-control-expose-headers', exposedHeaders]
  // An origin that stands for all others is no one to trust with credentials.
  const isTrusted = rules.credentials && names(rules.origins, origin)
  return isTrusted ? [...fields, 'access-control-allow-credentials', 'true'] : fields
}

/** The header fields for a preflight of a page that is given `fields`. */
export function preflightFields(rules: CorsRules, fields: Fields): Fields {
  if (!fields.includes(ALLOWED)) return fields
  const headers = new Map(
    [...protocolHeaders, ...rules.allowedHeaders].map((name) => [name.toLowerCase(), name]),
  )
  return [
    ...fields,
    'access-control-allow-methods',
    rules.methods.join(', '),
    'access-control-allow-headers',
    [...headers.values()].join(', '),
    'access-control-max-age',
    String(PREFLIGHT_AGE_S),
  ]
}
