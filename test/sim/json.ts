// Reading what came over a wire, without believing any of it.

/** The value of a text, or undefined for one that is no JSON. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The member at a path; undefined where there is none. */
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

/** The first `id` of a message, as it was written: scripts write it before anything that could hold another. */
export function rawId(text: string): string | undefined {
  return /"id":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1]
}

/** The progress token of a message, as it was written. */
export function rawToken(text: string): string | undefined {
  return /"progressToken":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1]
}

/** The request that a notification gives up, as it was written. */
export function rawRequestId(text: string): string {
  return /"requestId":("(?:[^"\\]|\\.)*"|[-+.\deE]+)/.exec(text)?.[1] ?? ''
}

/** Every nonce that a text holds, deep inside or not: `n:c3-17;`. */
export function noncesIn(text: string): string[] {
  if (!text.includes('n:')) return NONE
  return [...text.matchAll(/n:([a-z]\d+-\d+);/g)].map(([, nonce]) => nonce ?? '')
}

/** Whose request has this nonce. */
export function clientOf(nonce: string): string {
  return nonce.split('-')[0] ?? ''
}

/** Who said something, and the how manieth thing it was that it said: `@s0#4/12;`. */
export function stampIn(text: string): { readonly speaker: string; readonly count: number } | undefined {
  const [, speaker, count] = /@([a-z]\d+[#~]\d+)\/(\d+);/.exec(text) ?? []
  return speaker === undefined ? undefined : { speaker, count: Number(count) }
}

const NONE: string[] = []
