// The paths of the endpoints of a front: `/mcp` of the default schema, and the same below `/api/SCHEMA`, `/p/PROFILE` and
// `/servers/SERVER`.

/** An endpoint, as read from its path; it may not exist. */
export interface FrontPath {
  /** Undefined for the short paths of the default schema. */
  readonly kind: string | undefined
  /** The name of the schema, profile or server; undefined if its escapes are invalid. */
  readonly name: string | undefined
  /** The name as it was written; empty for a short path. */
  readonly written: string
  /** The transport: `mcp`, `sse` or `message`. */
  readonly last: string
}

const endpoint = /^(?:\/(api|p|servers)\/([^/]+))?\/(mcp|sse|message)$/

/** Returns undefined for any other path. */
export function readFrontPath(path: string): FrontPath | undefined {
  const [found, kind, written = '', last = ''] = endpoint.exec(path) ?? []
  return found === undefined ? undefined : { kind, name: unescaped(written), written, last }
}

/** Changes `/mcp/` to `/mcp`. */
export function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path
}

export function frontPathOf(kind: string, name: string): string {
  return `/${kind}/${encodeURIComponent(name)}`
}

function unescaped(text: string): string | undefined {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}
