// Reads JSON from a wire without trusting its shape.

/** The `_meta` key of messages about an open `subscriptions/listen` request. */
export const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'

export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export function at(value: unknown, ...path: readonly string[]): unknown {
  let here = value
  for (const key of path) {
    if (typeof here !== 'object' || here === null) return undefined
    here = Reflect.get(here, key)
  }
  return here
}

export function textAt(value: unknown, ...path: readonly string[]): string | undefined {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : undefined
}

export function numberAt(value: unknown, ...path: readonly string[]): number | undefined {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : undefined
}

/** Raw JSON of the first string or number with this name in a message. */
function raw(name: string): (text: string) => string | undefined {
  const pattern = new RegExp(String.raw`"${name.replaceAll('.', '[.]')}":("(?:[^"\\]|\\.)*"|[-+.\deE]+)`)
  return (text) => pattern.exec(text)?.[1]
}

/** Scripts write the id before anything that could contain another `id`. */
export const rawId: (text: string) => string | undefined = raw('id')
export const rawToken: typeof rawId = raw('progressToken')
export const rawRequestId: typeof rawId = raw('requestId')
export const rawSubscription: typeof rawId = raw(SUBSCRIPTION)

/** Every nonce in a text, at any depth: `n:c3-17;`. */
export function noncesIn(text: string): string[] {
  if (!text.includes('n:')) return []
  return [...text.matchAll(/n:([a-z]\d+-\d+);/g)].map(([, nonce]) => nonce ?? '')
}

export const clientOf = (nonce: string): string => nonce.split('-')[0] ?? ''

/** The sender of a message, and the number of the message: `@s0#4/12;`. */
export function stampIn(text: string): { readonly speaker: string; readonly count: number } | undefined {
  const [, speaker, count] = /@([a-z]\d+[#~]\d+)\/(\d+);/.exec(text) ?? []
  return speaker === undefined ? undefined : { speaker, count: Number(count) }
}
