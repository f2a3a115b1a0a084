// Reading parsed values of unknown shape.

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null
}

/** The value at a path of members and indexes; undefined where there is none. */
export function at(value: unknown, ...path: readonly (string | number)[]): unknown {
  let found = value
  for (const step of path) found = isObject(found) ? found[step] : undefined
  return found
}

/** The list at a path; empty where there is none. */
export function listAt(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

export function textAt(value: unknown, ...path: readonly (string | number)[]): string {
  const found = at(value, ...path)
  return typeof found === 'string' ? found : ''
}

export function numberAt(value: unknown, ...path: readonly (string | number)[]): number {
  const found = at(value, ...path)
  return typeof found === 'number' ? found : Number.NaN
}

export function errorOf({ value }: { readonly value: unknown }): [code: number, message: string] {
  return [numberAt(value, 'error', 'code'), textAt(value, 'error', 'message')]
}

export function parsed(text: string): unknown {
  return JSON.parse(text)
}

/** Why this is no JSON-RPC 2.0 message; undefined when it is one. */
export function notAFrame(value: unknown): string | undefined {
  if (!isObject(value) || Array.isArray(value)) return 'not an object'
  if (value['jsonrpc'] !== '2.0') return 'jsonrpc is not "2.0"'
  const { id, method } = value
  const isId = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id))
  if (method !== undefined) {
    if (typeof method !== 'string') return 'method is no string'
    if ('id' in value && !isId) return 'a request without a proper id'
    return 'result' in value || 'error' in value ? 'a call with an answer in it' : undefined
  }
  if ('result' in value === 'error' in value) return 'neither or both of result and error'
  if ('result' in value) return isId && isObject(value['result']) ? undefined : 'a bad result'
  const { error } = value
  if (!isObject(error) || !Number.isInteger(error['code']) || typeof error['message'] !== 'string')
    return 'a bad error'
  return isId || !('id' in value) || id === null ? undefined : 'an error without a proper id'
}

/** Fails with the place of the first difference, since whole lines are too long to look at. */
export function assertSame(got: string, wanted: string, what: string): void {
  if (got === wanted) return
  let from = 0
  while (got[from] === wanted[from]) from++
  const around = (text: string): string => text.slice(Math.max(0, from - 80), from + 160)
  throw new Error(`${what}: differs at ${from}\n     got …${around(got)}\n  wanted …${around(wanted)}`)
}
