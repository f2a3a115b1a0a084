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
  const best: { candidate: string; score: number }[] = []
  for (const candidate of candidates) {
    // Only what beats the worst one kept is worth counting to the end.
    const limit = best.length < most ? scoreMax : (best.at(-1)?.score ?? 0) - 1
    if (limit < 0) break
    const lower = candidate.toLowerCase()
    const mistakes = mistakesBetween(wanted, lower, limit)
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

/** How many letters are wrong, missing, too many, or exchanged with their neighbour; `limit + 1` when more than `limit`. */
function mistakesBetween(a: string, b: string, limit: number): number {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let above: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (let row = 1; row <= a.length; row += 1) {
    const current = [row]
    for (let column = 1; column <= b.length; column += 1) {
      const [letter, other] = [a[row - 1], b[column - 1]]
      const isExchange = letter === b[column - 2] && a[row - 2] === other
      const replaced = at(last, column - 1) + (letter === other ? 0 : 1)
      const exchanged = isExchange ? at(above, column - 2) + 1 : Infinity
      current.push(Math.min(replaced, exchanged, at(last, column) + 1, at(current, column - 1) + 1))
    }
    if (Math.min(...current) > limit) return limit + 1
    above = last
    last = current
  }
  return at(last, b.length)
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity
}
