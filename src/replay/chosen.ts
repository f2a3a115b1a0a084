// What the other end chose while it was recorded, and will choose anew: the ids
// and progress tokens of its requests, and the cursors of its lists.
//
// These places, and no others, become holes of a recorded frame. What is sent back
// to the other end later names the same values.

import { type JsonNode, child, textOf } from './json-tree.js'
import type { Fill, Hole, Pattern } from './pattern.js'

/** The values that the other end of one recorded connection chose. */
export class ChosenValues {
  readonly #bytes: (node: JsonNode) => string
  readonly #known: Set<string>

  /** `known` is shared by all frames of one connection. */
  constructor(bytes: Buffer, known: Set<string>) {
    this.#bytes = (node) => bytes.toString('utf8', node.start, node.end)
    this.#known = known
  }

  /** The frame as it is expected again. */
  expected(pattern: Pattern): Pattern {
    const holes = new Map<number, Hole>()
    for (const message of messages(pattern.tree)) {
      const params = child(message, 'params')
      if (isRequest(message)) {
        this.#hole(holes, 'bind', 'id', child(message, 'id'))
        this.#hole(holes, 'bind', 'token', child(child(params, '_meta'), 'progressToken'))
      }
      if (textOf(child(message, 'method')) === 'notifications/cancelled') {
        this.#hole(holes, 'same', 'id', child(params, 'requestId'))
      }
      this.#hole(holes, 'bind', 'cursor', child(child(message, 'result'), 'nextCursor'))
    }
    return { ...pattern, holes }
  }

  /** Where a frame that we send repeats such a value. */
  sent(tree: JsonNode): Fill[] {
    return messages(tree).flatMap((message) => {
      const params = child(message, 'params')
      const method = textOf(child(message, 'method'))
      if (method === undefined) return this.#fill('id', child(message, 'id'))
      if (method === 'notifications/progress') return this.#fill('token', child(params, 'progressToken'))
      return this.#fill('cursor', child(params, 'cursor'))
    })
  }

  #hole(holes: Map<number, Hole>, kind: 'bind' | 'same', what: string, node: JsonNode | undefined): void {
    if (node === undefined) return
    const name = this.#name(what, node)
    if (kind === 'bind') this.#known.add(name)
    if (this.#known.has(name)) holes.set(node.start, { kind, name })
  }

  #fill(what: string, node: JsonNode | undefined): Fill[] {
    if (node === undefined) return []
    const name = this.#name(what, node)
    return this.#known.has(name) ? [{ start: node.start, end: node.end, name }] : []
  }

  #name(what: string, node: JsonNode): string {
    return `${what} ${this.#bytes(node)}`
  }
}

function messages(tree: JsonNode): readonly JsonNode[] {
  return tree.kind === 'array' ? tree.items : [tree]
}

function isRequest(message: JsonNode): boolean {
  return child(message, 'method') !== undefined && child(message, 'id') !== undefined
}
