// Resolves a `$ref` inside one schema document.
//
// Nothing is fetched, and no other document is ever looked at: what does not
// lead to a place inside the document leads nowhere. In one document without
// embedded ids, `$dynamicRef` and `$recursiveRef` lead where `$ref` would.

import { fromPointer, isJsonArray, isJsonObject, type JsonObject, valuesIn } from './json-value.js'

/** The references of one document. */
export class SchemaReferences {
  readonly #root: JsonObject
  /** Made on the first reference, in one pass: a search for each would make a quadratic bomb. */
  #anchors: ReadonlyMap<string, JsonObject> | undefined

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The value that `reference` names; undefined when it cannot be followed. */
  locate(reference: string): unknown {
    this.#anchors ??= anchorsIn(this.#root)
    const fragment = fragmentOf(this.#root, reference)
    if (this.#anchors === undefined || fragment === undefined) return undefined
    if (fragment === '') return this.#root
    return fragment.startsWith('/') ? atPointer(this.#root, fragment) : this.#anchors.get(fragment)
  }
}

/** Undefined where ids are embedded: a reference may start from any of them, and nobody's tools need that. */
function anchorsIn(root: JsonObject): ReadonlyMap<string, JsonObject> | undefined {
  const anchors = new Map<string, JsonObject>()
  for (const value of valuesIn(root)) {
    if (!isJsonObject(value)) continue
    const id = value['$id']
    const isAnchor = typeof id === 'string' && id.startsWith('#')
    if (typeof id === 'string' && !isAnchor && value !== root) return undefined
    for (const name of [value['$anchor'], value['$dynamicAnchor'], isAnchor ? id.slice(1) : undefined]) {
      if (typeof name === 'string') anchors.set(name, value)
    }
  }
  return anchors
}

/** The part behind `#`; undefined where the reference leads to another document. */
function fragmentOf(root: JsonObject, reference: string): string | undefined {
  const [document = '', fragment = ''] = reference.split('#', 2)
  const id = root['$id']
  if (document !== '' && (typeof id !== 'string' || document !== id.split('#', 1)[0])) return undefined
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function atPointer(root: JsonObject, pointer: string): unknown {
  let value: unknown = root
  for (const key of pointer.slice(1).split('/').map(fromPointer)) {
    if (isJsonArray(value)) value = value[Number(key)]
    else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
