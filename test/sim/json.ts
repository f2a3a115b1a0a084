// Reads JSON from a wire without trusting its shape.

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

/** The first `id` of a message as raw JSON. Scripts write it before anything that could contain another `id`. */
export function rawId(text: string): string | undefined {
  return /"id":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1]
}

/** Raw JSON. */
export function rawToken(text: string): string | undefined {
  return /"progressToken":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1]
}

/** Raw JSON of the id of the cancelled request. */
export function rawRequestId(text: string): string {
  return /"requestId":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1] ?? ''
}

/** Every nonce in a text, at any depth: `n:c3-17;`. */
export function noncesIn(text: string): string[] {
  if (!text.includes('n:')) return NONE
  return [...text.matchAll(/n:([a-z]\d+-\d+);/g)].map(([, nonce]) => nonce ?? '')
}

export function clientOf(nonce: string): string {
  return nonce.split('-')[0] ?? ''
}

/** The sender of a message, and the number of the message: `@s0#4/12;`. */
export function stampIn(text: string): { readonly speaker: string; readonly count: number } | undefined {
  const [, speaker, count] = /@([a-z]\d+[#~]\d+)\/(\d+);/.exec(text) ?? []
  return speaker === undefined ? undefined : { speaker, count: Number(count) }
}

const NONE: string[] = []
