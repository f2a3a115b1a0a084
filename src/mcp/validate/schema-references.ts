// Resolves a `$ref` inside one schema document.
//
// Nothing is fetched, and no other document is ever looked at: what does not
// lead to a place inside the document leads nowhere. In one document without
// embedded ids, `$dynamicRef` and `$recursiveRef` lead where `$ref` would.

import { isJsonArray, isJsonObject, type JsonObject, valuesIn } from './json-value.js'

/** The references of one document. */
export class SchemaReferences {
  readonly #root: JsonObject
  /** Made on the first reference, in one pass: a search for each would make a quadratic bomb. */
  #anchors: Map<string, JsonObject> | undefined
  #embedsIds = false

  constructor(root: JsonObject) {
    this.#root = root
  }

  /** The value that `reference` names; undefined when it cannot be followed. */
  locate(reference: string): unknown {
    const anchors = (this.#anchors ??= this.#collect())
    const fragment = fragmentOf(this.#root, reference)
    // With ids inside, a reference may start from any of them; nobody's tools need that.
    if (this.#embedsIds || fragment === undefined) return undefined
    if (fragment === '') return this.#root
    return fragment.startsWith('/') ? atPointer(this.#root, fragment) : anchors.get(fragment)
  }

  #collect(): Map<string, JsonObject> {
    const anchors = new Map<string, JsonObject>()
    for (const value of valuesIn(this.#root)) {
      if (!isJsonObject(value)) continue
      const id = value['$id']
      const isAnchor = typeof id === 'string' && id.startsWith('#')
      if (typeof id === 'string' && !isAnchor && value !== this.#root) this.#embedsIds = true
      for (const name of [value['$anchor'], value['$dynamicAnchor'], isAnchor ? id.slice(1) : undefined]) {
        if (typeof name === 'string') anchors.set(name, value)
      }
    }
    return anchors
  }
}

function fragmentOf(root: JsonObject, reference: string): string | undefined {
  const [document, fragment = ''] = reference.split('#', 2)
  if (document !== '' && document !== ownId(root)) return undefined
  try {
    return decodeURIComponent(fragment)
  } catch {
    return undefined
  }
}

function ownId(root: JsonObject): string | undefined {
  const id = root['$id']
  return typeof id === 'string' ? id.split('#', 1)[0] : undefined
}

function atPointer(root: JsonObject, pointer: string): unknown {
  let value: unknown = root
  for (const escaped of pointer.slice(1).split('/')) {
    const key = escaped.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isJsonArray(value)) value = value[Number(key)]
    else if (isJsonObject(value) && Object.hasOwn(value, key)) value = value[key]
    else return undefined
  }
  return value
}
