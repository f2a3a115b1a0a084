// Reproducible random numbers: they follow from a seed and a name. Each stream, process and client has its own
// sequence, so that leaving out one operation changes little for the others.

export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  static of(seed: number, name: string): Random {
    let hash = 0x811c9dc5 ^ Math.imul(seed, 0x9e3779b1)
    for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
    return new Random(hash ^ (hash >>> 15))
  }

  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  /** Both bounds are included. */
  int(least: number, most: number): number {
    return least + this.below(most - least + 1)
  }

  below(below: number): number {
    return Math.floor(this.next() * below)
  }

  chance(probability: number): boolean {
    return this.next() < probability
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.int(0, choices.length - 1)] ?? choices[0]
  }

  /** A key with the probability of its weight. Undefined if all weights are 0. */
  weighted<K extends string>(weights: readonly (readonly [K, number])[]): K | undefined {
    const total = weights.reduce((sum, [, weight]) => sum + weight, 0)
    let left = this.next() * total
    for (const [key, weight] of weights) {
      left -= weight
      if (left < 0) return key
    }
    return undefined
  }
}
