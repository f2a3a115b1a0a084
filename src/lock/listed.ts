// The items of a server in the form that is compared with the lock.

import type { ListItem } from '../mcp/lists.js'
import type { Listed, LockedKind } from '../upstream/contracts/list-guard.js'
import type { Content, ListedServer } from './compare.js'
import { objectOf, membersOfJson, readComparable, string, stringIn } from './json.js'
import { lockContentOf, noInstructions } from './lock-text.js'

/** Converts items to contents; each item is parsed once. */
export class Contents {
  readonly #known = new WeakMap<ListItem, Content>()

  of({ client, isCurrent, instructions, lists }: Listed): ListedServer {
    const read = (kind: LockedKind): ReadonlyMap<string, Content> | undefined => {
      const items = lists.get(kind)
      return items && this.#named(items)
    }
    return {
      client,
      isCurrent,
      instructions: instructions && instructionsOf(instructions.text),
      lists: { tools: read('tools'), prompts: read('prompts') },
    }
  }

  /** Of items with the same name the first counts, as it does for clients. */
  #named(items: readonly ListItem[]): ReadonlyMap<string, Content> {
    const named = new Map<string, Content>()
    for (const item of items) if (!named.has(item.key)) named.set(item.key, this.#content(item))
    return named
  }

  #content(item: ListItem): Content {
    const known = this.#known.get(item)
    if (known !== undefined) return known
    const members = membersOfJson(readComparable(item.line))
    // Only the member with the known name is left out: a client may read a second "name" of the item instead.
    const nameAt = members.findIndex(([each, value]) => each === 'name' && stringIn(value) === item.key)
    const content = lockContentOf(objectOf(members.filter((_, at) => at !== nameAt)))
    this.#known.set(item, content)
    return content
  }
}

function instructionsOf(text: string | undefined): Content {
  return text === undefined || text === '' ? noInstructions : lockContentOf(string(text))
}
