// Members of one object that have the same name: `JSON.parse` keeps the last of them and says nothing.

import { memberPath } from './problems.js'

/** A member whose name an earlier one of the same object has. */
export interface RepeatedMember {
  readonly path: string
  /** The member of the whole file that it is, or is part of. */
  readonly topKey: string
  /** Where the first one of this name stands, and where this one; offsets into the text. */
  readonly first: number
  readonly again: number
}

/** An object or a list that has not ended. */
interface Container {
  readonly path: string
  readonly topKey: string | undefined
  /** Where each name stood first; undefined in a list. */
  readonly names: Map<string, number> | undefined
  /** The member or item that is being read. */
  at: { readonly path: string; readonly topKey: string | undefined }
  items: number
}

/** So many are told of: each costs a look for its line. */
const FOUND_MAX = 20

/** Follows the tokens of a JSON text. */
export class RepeatedMembers {
  readonly found: RepeatedMember[] = []
  readonly #open: Container[] = []

  /** The next token and where it stands; `name` is what it means where it is a name. */
  take(token: string, offset: number, name: string | undefined): void {
    const container = this.#open.at(-1)
    if (name !== undefined && container?.names !== undefined)
      return this.#name(container, container.names, name, offset)
    if (token === '}' || token === ']') return void this.#open.pop()
    if (container !== undefined && container.names === undefined && token !== ',') item(container)
    if (token === '{' || token === '[') this.#begin(container, token)
  }

  #name(container: Container, names: Map<string, number>, name: string, offset: number): void {
    const path = memberPath(container.path, name)
    const topKey = container.topKey ?? name
    container.at = { path, topKey }
    const first = names.get(name)
    if (first === undefined) names.set(name, offset)
    else if (this.found.length < FOUND_MAX) this.found.push({ path, topKey, first, again: offset })
  }

  #begin(container: Container | undefined, token: string): void {
    const at = container?.at ?? { path: '', topKey: undefined }
    this.#open.push({ ...at, names: token === '{' ? new Map() : undefined, at, items: 0 })
  }
}

function item(list: Container): void {
  list.at = { path: `${list.path}[${list.items++}]`, topKey: list.topKey }
}
