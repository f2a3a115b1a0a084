// Suggests the nearest name: for options, keys, schemas and tool names.
//
// Candidates can be ten thousand tool names and the word can come from a
// stranger, so the distance is bounded: work stops as soon as a candidate
// cannot win, and over-long words get no suggestion at all.

/** Longest word that suggestions are searched for, in UTF-16 units: a name is shorter, an attack is not. */
const wordLengthMax = 128

/** More mistakes than this are another word, however long it is; it also bounds the work. */
const mistakesMax = 4

/** Shortest word that counts as a part of a longer name (`time` in `get_current_time`). */
const partLengthMin = 4

/** Most names that a hint lists. */
const listedMax = 20

/** `no server is called "githup"; did you mean "github"?` */
export function unknownName(kind: string, name: string, names: readonly string[]): string {
  return `no ${kind} is called "${name}"; ${namesHint(name, names)}`
}

/** The name that may have been meant, or all that there are; `none` where there is none. */
export function namesHint(name: string, names: readonly string[], none = 'there is none'): string {
  const [near] = nearest(name, names)
  if (near !== undefined) return `did you mean "${near}"?`
  const more = names.length > listedMax ? ', …' : ''
  return names.length === 0 ? none : `there is ${names.slice(0, listedMax).join(', ')}${more}`
}

/**
 * The candidates nearest to `word`, best first, at most `most` of them.
 *
 * Case is ignored, two letters exchanged count as one mistake, and a candidate that begins or ends
 * with the word counts as near. Nothing is suggested when nothing is near.
 */
export function nearest(word: string, candidates: Iterable<string>, most = 1): string[] {
  if (word.length === 0 || word.length > wordLengthMax) return []
  const wanted = word.toLowerCase()
  // Of a word of which no letter is right, nothing is near.
  const scoreMax = Math.min(mistakesMax, wanted.length - 1, Math.max(1, Math.round(wanted.length * 0.4)))
  const distance = new EditDistance()
  const best: { candidate: string; score: number }[] = []
  for (const candidate of candidates) {
    // Only what beats the worst one kept is worth counting to the end.
    const limit = best.length < most ? scoreMax : (best.at(-1)?.score ?? 0) - 1
    if (limit < 0) break
    const lower = candidate.toLowerCase()
    const mistakes = distance.between(wanted, lower, limit)
    const score = mistakes > limit && isPart(wanted, lower) ? scoreMax : mistakes
    if (score > limit) continue
    best.splice(best.findLastIndex((kept) => kept.score <= score) + 1, 0, { candidate, score })
    best.length = Math.min(best.length, most)
  }
  return best.map(({ candidate }) => candidate)
}

function isPart(wanted: string, candidate: string): boolean {
  if (wanted.length < partLengthMin || candidate.length > wordLengthMax) return false
  return candidate.endsWith(wanted) || candidate.startsWith(wanted)
}

/** More than any distance between two words. */
const far = 0xffff

/** Counts the mistakes between two words; keeps its rows, since ten thousand words are compared in one go. */
class EditDistance {
  #current = new Uint16Array(wordLengthMax + mistakesMax + 2)
  #previous = new Uint16Array(wordLengthMax + mistakesMax + 2)
  #beforePrevious = new Uint16Array(wordLengthMax + mistakesMax + 2)

  /** `limit + 1` when there are more than `limit`. */
  between(a: string, b: string, limit: number): number {
    if (Math.abs(a.length - b.length) > limit) return limit + 1
    for (let column = 0; column <= b.length; column += 1) this.#previous[column] = column
    for (let row = 1; row <= a.length; row += 1) {
      if (this.#fillRow(a, b, row, limit) > limit) return limit + 1
      const free = this.#beforePrevious
      this.#beforePrevious = this.#previous
      this.#previous = this.#current
      this.#current = free
    }
    return this.#previous[b.length] ?? far
  }

  /** Fills the cells that can still matter, those near the diagonal, and returns the least of them. */
  #fillRow(a: string, b: string, row: number, limit: number): number {
    const current = this.#current
    const first = Math.max(1, row - limit)
    const last = Math.min(b.length, row + limit)
    current[first - 1] = first === 1 ? row : far
    let least = current[first - 1] ?? far
    for (let column = first; column <= last; column += 1) {
      const cell = this.#cell(a, b, row, column)
      current[column] = cell
      if (cell < least) least = cell
    }
    current[last + 1] = far
    return least
  }

  #cell(a: string, b: string, row: number, column: number): number {
    const same = a.charCodeAt(row - 1) === b.charCodeAt(column - 1)
    const replaced = (this.#previous[column - 1] ?? far) + (same ? 0 : 1)
    const added = (this.#previous[column] ?? far) + 1
    const removed = (this.#current[column - 1] ?? far) + 1
    const exchanged = isExchange(a, b, row, column) ? (this.#beforePrevious[column - 2] ?? far) + 1 : far
    return Math.min(replaced, added, removed, exchanged)
  }
}

function isExchange(a: string, b: string, row: number, column: number): boolean {
  if (row < 2 || column < 2) return false
  return (
    a.charCodeAt(row - 1) === b.charCodeAt(column - 2) && a.charCodeAt(row - 2) === b.charCodeAt(column - 1)
  )
}
