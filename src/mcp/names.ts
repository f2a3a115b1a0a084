// The names under which clients see tools and prompts.
//
// The proxy does not parse a public name: the catalog maps it back through a table, so
// a name may contain `__`, and may be shortened, without a call going astray.
// A public name follows from the service and the original name. Other items
// matter only if two public names would be equal.

/** The longest public name: clients and model APIs refuse longer ones. */
const NAME_LENGTH_MAX = 64

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/

export interface NamedItem {
  readonly service: string
  /** The name that the service itself uses. */
  readonly original: string
}

/**
 * `service__original`, limited to `[A-Za-z0-9_-]` and 64 characters.
 *
 * A longer or odd name has the odd characters replaced and ends in a hash of both parts.
 */
export function publicName(service: string, original: string): string {
  const name = `${service}__${original}`
  return PLAIN.test(name) ? name : hashedName(name, service, original, 0)
}

/**
 * Gives public names to items in configuration order, each name once.
 *
 * The earlier of two items with equal names keeps the name. The later item gets a hash of its service
 * and original name alone, so a service that is added at the end changes no earlier name.
 */
export class PublicNames {
  readonly #onCollision: (name: string, earlier: NamedItem, later: NamedItem) => void
  readonly #items = new Map<string, NamedItem>()

  /** `onCollision` gets the name of two items, which the earlier one keeps. */
  constructor(onCollision: (name: string, earlier: NamedItem, later: NamedItem) => void) {
    this.#onCollision = onCollision
  }

  /** The public name of an item: `wanted`, unless an earlier item has it. */
  add(later: NamedItem, wanted: string): string {
    const earlier = this.#items.get(wanted)
    if (earlier !== undefined) this.#onCollision(wanted, earlier, later)
    let name = wanted
    // A server may list a name that equals a hashed name, so the next hash is tried.
    for (let round = 1; this.#items.has(name); round++)
      name = hashedName(wanted, later.service, later.original, round)
    this.#items.set(name, later)
    return name
  }
}

function hashedName(name: string, service: string, original: string, round: number): string {
  // The length keeps ("a", "bc") and ("ab", "c") apart.
  const hash = hashOf(`${round}:${service.length}:${service}${original}`)
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_')
  return `${plain.slice(0, NAME_LENGTH_MAX - hash.length - 1)}_${hash}`
}

const HASH_LENGTH = 10

/**
 * FNV-1a over UTF-16 code units, 64 bits, as ten characters of base 36.
 *
 * The hash need not be cryptographic, because the table resolves equal names. Ten lines
 * here save every process the loading of a cryptographic library.
 */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let at = 0; at < text.length; at++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n)
  }
  return hash.toString(36).padStart(HASH_LENGTH, '0').slice(-HASH_LENGTH)
}
