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

export async function apiJson<T>(path: string, isThat: (value: unknown) => value is T): Promise<T> {
  const value: unknown = await (await api(path)).json()
  if (isThat(value)) return value
  throw new ApiError(0, 'the proxy has sent something else than this page expects: load the page again')
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

type NameOf<Line> = Line extends FeedLine ? keyof Line : never

const lineNames: Record<NameOf<FeedLine>, true> = {
  hello: true,
  frames: true,
  older: true,
  skipped: true,
  counts: true,
}

function isFeedLine(value: unknown): value is FeedLine {
  return isRecord(value) && Object.keys(value).some((name) => Object.hasOwn(lineNames, name))
}

/** Reads the feed until it ends or `signal` fires. */
export async function readFeed(
  query: string,
  signal: AbortSignal,
  take: (line: FeedLine) => void,
): Promise<void> {
  const response = await api(`/ui/feed${query}`, { signal })
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let rest = ''
  for (;;) {
    const { value, done } = (await reader?.read()) ?? { value: undefined, done: true }
    if (done || value === undefined) return
    const lines = `${rest}${value}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const parsed: unknown = JSON.parse(line)
      if (isFeedLine(parsed)) take(parsed)
    }
  }
}
