// The names under which clients see tools and prompts.
//
// The proxy does not parse a public name: the catalog maps it back through a table, so
// a name may contain `__`, and may be shortened, without a call going astray.
// Every name follows from its service and its own name; what else is configured
// matters only where two of them would be the same.

/** The longest public name: clients and model APIs refuse longer ones. */
const NAME_LENGTH_MAX = 64

const PLAIN = /^[A-Za-z0-9_-]{1,64}$/

/** The tools and prompts of one service, under its own names. */
export interface NamedService {
  readonly service: string
  /** Off passes names through untouched, odd ones too. */
  readonly prefix: boolean
  /** From a service's own name to the one to show instead. */
  readonly rename: ReadonlyMap<string, string>
  /** The whole public name of what a service calls so, where that is not the usual one. */
  readonly wholeName?: ((own: string) => string | undefined) | undefined
  readonly names: readonly string[]
}

/** A service's own name, and where the service stands in the list that was given. */
export interface NameTarget {
  readonly index: number
  readonly service: string
  readonly own: string
}

/** Two offers whose public names are the same, or would be if case did not count. */
export interface NameCollision {
  readonly kind: 'same' | 'case'
  /** The name of the later one, which has another instead when `kind` is `same`. */
  readonly name: string
  readonly earlier: NameTarget
  readonly later: NameTarget
}

export interface ResolvedNames {
  /** For each service given, its own names and their public ones. */
  readonly publicNames: readonly ReadonlyMap<string, string>[]
  /** The way back. */
  readonly targets: ReadonlyMap<string, NameTarget>
  readonly collisions: readonly NameCollision[]
}

/**
 * `service__own`, kept to `[A-Za-z0-9_-]` and 64 characters.
 *
 * A longer or odd name has the odd characters replaced and ends in a hash of both parts.
 */
export function publicName(service: string, own: string): string {
  const name = `${service}__${own}`
  return PLAIN.test(name) ? name : hashedName(name, service, own, 0)
}

/**
 * Public names for services in configuration order, each name met only once.
 *
 * Of two equal names the earlier keeps it; the later one gets a hash that depends on
 * its service and own name alone. So adding a service at the end changes no name before it.
 */
export function resolveNames(services: readonly NamedService[]): ResolvedNames {
  const table = new NameTable()
  const publicNames = services.map((service, index) => table.add(service, index))
  return { publicNames, targets: table.targets, collisions: table.collisions }
}

class NameTable {
  readonly targets = new Map<string, NameTarget>()
  readonly collisions: NameCollision[] = []
  /** The first of each name that differs from others by case only. */
  readonly #byLowerCase = new Map<string, NameTarget>()

  add(offer: NamedService, index: number): ReadonlyMap<string, string> {
    const names = new Map<string, string>()
    for (const own of offer.names) {
      if (!names.has(own)) names.set(own, this.#resolve(offer, { index, service: offer.service, own }))
    }
    return names
  }

  #resolve(offer: NamedService, target: NameTarget): string {
    const shown = offer.rename.get(target.own) ?? target.own
    const usual = offer.prefix ? publicName(offer.service, shown) : shown
    const wanted = offer.wholeName?.(target.own) ?? usual
    const earlier = this.targets.get(wanted)
    if (earlier !== undefined) this.collisions.push({ kind: 'same', name: wanted, earlier, later: target })
    const name = this.#free(wanted, target)
    this.targets.set(name, target)
    this.#noteCase(name, target)
    return name
  }

  /** A hashed name can be taken as well, by one that was made to look like it: then the next hash is tried. */
  #free(wanted: string, { service, own }: NameTarget): string {
    let name = wanted
    for (let round = 1; this.targets.has(name); round++) name = hashedName(wanted, service, own, round)
    return name
  }

  #noteCase(name: string, later: NameTarget): void {
    const lower = name.toLowerCase()
    const earlier = this.#byLowerCase.get(lower)
    if (earlier === undefined) this.#byLowerCase.set(lower, later)
    else this.collisions.push({ kind: 'case', name, earlier, later })
  }
}

function hashedName(name: string, service: string, own: string, round: number): string {
  // The length keeps ("a", "bc") and ("ab", "c") apart.
  const hash = hashOf(`${round}:${service.length}:${service}${own}`)
  const plain = name.replace(/[^A-Za-z0-9_-]/g, '_')
  return `${plain.slice(0, NAME_LENGTH_MAX - hash.length - 1)}_${hash}`
}

const HASH_LENGTH = 10

/**
 * FNV-1a over UTF-16 code units, 64 bits, as ten characters of base 36.
 *
 * The hash need not be hard to invert: the table tells equal names apart. Ten lines
 * here spare the start of every process the loading of a cryptographic library.
 */
function hashOf(text: string): string {
  let hash = 0xcbf29ce484222325n
  for (let at = 0; at < text.length; at++) {
    hash = BigInt.asUintN(64, (hash ^ BigInt(text.charCodeAt(at))) * 0x100000001b3n)
  }
  return hash.toString(36).padStart(HASH_LENGTH, '0').slice(-HASH_LENGTH)
}
