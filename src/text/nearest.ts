// Suggests the nearest name: for options, keys, schemas and tool names.
//
// There can be ten thousand tool names, and the word can come from an attacker. So the distance is bounded,
// and overlong words get no suggestion.

/** The longest word that gets suggestions, in UTF-16 units. Names are shorter. */
const wordLengthMax = 128

/** With more mistakes, the words are different, however long they are. The limit also bounds the work. */
const mistakesMax = 4

/** The shortest word that counts as a part of a longer name (`time` in `get_current_time`). */
const partLengthMin = 4

const listedMax = 20

/** Says, for example, `no server is called "githup"; did you mean "github"?`. */
export function unknownName(kind: string, name: string, names: readonly string[]): string {
  return `no ${kind} is called "${name}"; ${namesHint(name, names)}`
}

/** Suggests the nearest name, or lists all names; `none` is the text for an empty list. */
export function namesHint(name: string, names: readonly string[], none = 'there is none'): string {
  const [near] = nearest(name, names)
  if (near !== undefined) return `did you mean "${near}"?`
  const more = names.length > listedMax ? ', …' : ''
  return names.length === 0 ? none : `there is ${names.slice(0, listedMax).join(', ')}${more}`
}

/**
 * The candidates nearest to `word`, best first, at most `most`; empty if no candidate is near. Case is
 * ignored, two exchanged letters are one mistake, and a candidate that begins or ends with the word is near.
 */
export function nearest(word: string, candidates: Iterable<string>, most = 1): string[] {
  if (word.length === 0 || word.length > wordLengthMax) return []
  const wanted = word.toLowerCase()
  // If every letter of the word is wrong, nothing is near.
  const scoreMax = Math.min(mistakesMax, wanted.length - 1, Math.max(1, Math.round(wanted.length * 0.4)))
  const scored = [...candidates].map((candidate) => {
    const lower = candidate.toLowerCase()
    const mistakes = mistakesBetween(wanted, lower, scoreMax)
    return { candidate, score: mistakes > scoreMax && isPart(wanted, lower) ? scoreMax : mistakes }
  })
  const near = scored.filter(({ score }) => score <= scoreMax).sort((one, other) => one.score - other.score)
  return near.slice(0, most).map(({ candidate }) => candidate)
}

function isPart(wanted: string, candidate: string): boolean {
  if (wanted.length < partLengthMin || candidate.length > wordLengthMax) return false
  return candidate.endsWith(wanted) || candidate.startsWith(wanted)
}

/** Counts letters that are wrong, missing, extra or exchanged with their neighbour. Above `limit`, stops counting. */
function mistakesBetween(one: string, second: string, limit: number): number {
  const [a, b] = [Array.from(one), Array.from(second)]
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let beforeLast: readonly number[] = []
  let last: readonly number[] = Array.from({ length: b.length + 1 }, (_, column) => column)
  for (const [row, letter] of a.entries()) {
    const current = [row + 1]
    for (const [column, other] of b.entries()) {
      const [above = 0, left = 0, diagonal = 0] = [last[column + 1], current[column], last[column]]
      const isExchange = letter === b[column - 1] && a[row - 1] === other
      const exchanged = isExchange ? (beforeLast[column - 1] ?? 0) + 1 : Infinity
      current.push(Math.min(above + 1, left + 1, diagonal + (letter === other ? 0 : 1), exchanged))
    }
    if (Math.min(...current) > limit) return limit + 1
    beforeLast = last
    last = current
  }
  return last.at(-1) ?? 0
}
