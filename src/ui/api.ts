// The requests of the page to the proxy, with the key of the inspector.

import type { FeedLine } from '../inspector/protocol.js'

const KEY = 'mcps-proxy key'

/** Moves the key from the address, where others may see it, to the storage of this tab. */
export function takeKey(): string | undefined {
  const given = /^#key=([\w-]{43})$/.exec(location.hash)?.[1]
  if (given !== undefined) {
    sessionStorage.setItem(KEY, given)
    history.replaceState(null, '', '#/wire')
  }
  return sessionStorage.getItem(KEY) ?? undefined
}

/** A refusal, with the message of the proxy. */
export class ApiError extends Error {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

export async function api(path: string, init: RequestInit = {}): Promise<Response> {
  const headers = { authorization: `Bearer ${sessionStorage.getItem(KEY) ?? ''}` }
  const response = await fetch(path, { ...init, headers, cache: 'no-store' })
  if (response.ok) return response
  const body: unknown = await response.json().catch(() => ({}))
  const error = typeof body === 'object' && body !== null && 'error' in body ? String(body.error) : ''
  throw new ApiError(response.status, error === '' ? `HTTP ${response.status}` : error)
}

/** The proxy and its page have the same version. */
export async function apiJson<T>(path: string): Promise<T> {
  const value: T = await (await api(path)).json()
  return value
}

/** Reads the feed until it ends or `signal` fires. */
export async function readFeed(
  signal: AbortSignal,
  opened: () => void,
  take: (line: FeedLine) => void,
): Promise<void> {
  const response = await api('/ui/feed', { signal })
  opened()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done || value === undefined) return
    const lines = `${rest}${value}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(JSON.parse(line))
  }
}
