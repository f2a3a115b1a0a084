// Reads a regular expression just far enough to say what running it can cost.
//
// Backtracking engines are slow where a text can be cut into pieces in many
// ways. This reader knows groups, alternatives and repetition, which is all
// that makes ways, and gives up on what it does not know: look-around,
// back-references, inline flags.

export type PatternNode =
  /** One character, class or assertion. */
  | { readonly kind: 'atom'; readonly source: string }
  | { readonly kind: 'sequence'; readonly items: readonly PatternNode[] }
  | { readonly kind: 'choice'; readonly options: readonly PatternNode[] }
  | { readonly kind: 'repeat'; readonly item: PatternNode; readonly min: number; readonly max: number }

/** The deepest nesting of groups that is read. */
const DEPTH_MAX = 16

/** Undefined for what cannot be read; a pattern that is no valid expression may be read all the same. */
export function readPattern(source: string): PatternNode | undefined {
  return new PatternReader(source).read()
}

class PatternReader {
  readonly #source: string
  #at = 0
  #unknown = false

  constructor(source: string) {
    this.#source = source
  }

  read(): PatternNode | undefined {
    const node = this.#choice(0)
    return this.#unknown || this.#at < this.#source.length ? undefined : node
  }

  #choice(depth: number): PatternNode {
    if (depth > DEPTH_MAX) this.#unknown = true
    const options = [this.#sequence(depth)]
    while (!this.#unknown && this.#take('|')) options.push(this.#sequence(depth))
    return { kind: 'choice', options }
  }

  #sequence(depth: number): PatternNode {
    const items: PatternNode[] = []
    while (!this.#unknown && this.#at < this.#source.length && !'|)'.includes(this.#peek())) {
      items.push(this.#repeated(this.#item(depth)))
    }
    return { kind: 'sequence', items }
  }

  #item(depth: number): PatternNode {
    if (this.#take('(')) return this.#group(depth)
    const match = ATOM.exec(this.#source.slice(this.#at))
    // What does not even start an atom is an unfinished class or escape.
    if (match === null || BACK_REFERENCE.test(match[0])) this.#unknown = true
    const source = match?.[0] ?? ''
    this.#at += source.length
    return { kind: 'atom', source }
  }

  #group(depth: number): PatternNode {
    if (this.#peek() === '?' && !this.#take('?:') && !this.#takeName()) this.#unknown = true
    const inner = this.#choice(depth + 1)
    if (!this.#take(')')) this.#unknown = true
    return inner
  }

  #takeName(): boolean {
    const name = /^\?<[A-Za-z_]\w*>/.exec(this.#source.slice(this.#at))
    this.#at += name?.[0].length ?? 0
    return name !== null
  }

  #repeated(item: PatternNode): PatternNode {
    const match = QUANTIFIER.exec(this.#source.slice(this.#at))
    if (match === null) return item
    this.#at += match[0].length
    const [, sign, min = '0', comma, max] = match
    if (sign !== undefined) return repeat(item, sign === '+' ? 1 : 0, sign === '?' ? 1 : Infinity)
    if (comma === undefined) return repeat(item, Number(min), Number(min))
    return repeat(item, Number(min), max === '' || max === undefined ? Infinity : Number(max))
  }

  #peek(): string {
    return this.#source.charAt(this.#at)
  }

  #take(text: string): boolean {
    const taken = this.#source.startsWith(text, this.#at)
    if (taken) this.#at += text.length
    return taken
  }
}

/** A class, an escape with or without braces, or any other character. Linear: no two parts can take the same text. */
const ATOM = /^(?:\[(?:[^\]\\]|\\[^])*\]|\\[upP]\{[^}]*\}|\\[^]|[^[\\])/
const BACK_REFERENCE = /^\\[1-9k]/
const QUANTIFIER = /^(?:([*+?])|\{(\d+)(,(\d*))?\})\??/

function repeat(item: PatternNode, min: number, max: number): PatternNode {
  return { kind: 'repeat', item, min, max }
}
