// Values that the other end chooses anew in each session: the ids and progress tokens of its requests,
// the cursors of its lists, the states of its questions (`requestState`) and the ids of its tasks.
//
// These places, and no others, become holes of a recorded frame. Frames that are
// sent to the other end later name the same values.

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

  /** The frame that is expected again. */
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
      const result = child(message, 'result')
      this.#hole(holes, 'bind', 'cursor', child(result, 'nextCursor'))
      this.#hole(holes, 'bind', 'state', child(result, 'requestState'))
      this.#hole(holes, 'bind', 'task', child(child(result, 'task'), 'taskId'))
      for (const node of taskIds(result, params)) this.#hole(holes, 'same', 'task', node)
    }
    return { ...pattern, holes }
  }

  /** The places in which a frame that we send repeats such a value. */
  sent(tree: JsonNode): Fill[] {
    return messages(tree).flatMap((message) => {
      const params = child(message, 'params')
      const method = textOf(child(message, 'method'))
      if (method === undefined) return this.#fill('id', child(message, 'id'))
      if (method === 'notifications/progress') return this.#fill('token', child(params, 'progressToken'))
      return [
        ...this.#fill('cursor', child(params, 'cursor')),
        ...this.#fill('state', child(params, 'requestState')),
        ...taskIds(params).flatMap((node) => this.#fill('task', node)),
      ]
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

/** The nodes of these objects that name a task. */
function taskIds(...objects: readonly (JsonNode | undefined)[]): (JsonNode | undefined)[] {
  return objects.flatMap((object) => [
    child(object, 'taskId'),
    child(child(child(object, '_meta'), RELATED_TASK), 'taskId'),
  ])
}

const RELATED_TASK = 'io.modelcontextprotocol/related-task'

function messages(tree: JsonNode): readonly JsonNode[] {
  return tree.kind === 'array' ? tree.items : [tree]
}

function isRequest(message: JsonNode): boolean {
  return child(message, 'method') !== undefined && child(message, 'id') !== undefined
}
