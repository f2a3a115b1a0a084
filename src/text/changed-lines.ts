// The lines in which two texts differ, for a person who is to agree to a change.

/** More lines than this that may differ are shown as one change. */
const comparedMax = 2000

/** The lines that differ: in each place what goes, then what comes. */
export function changedLines(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  return compared(old.slice(start, old.length - end), now.slice(start, now.length - end))
}

function compared(old: readonly string[], now: readonly string[]): string {
  const lengths = commonLengths(old, now)
  const [gone, come, lines]: [string[], string[], string[]] = [[], [], []]
  for (let [at, to] = [0, 0]; at < old.length || to < now.length;) {
    const isSame = lengths !== undefined && at < old.length && to < now.length && old[at] === now[to]
    if (isSame) {
      lines.push(...gone.splice(0), ...come.splice(0))
      at++
      to++
    } else if (
      at < old.length &&
      (to === now.length || lengthAt(lengths, at + 1, to) >= lengthAt(lengths, at, to + 1))
    )
      gone.push(`- ${old[at++]}\n`)
    else come.push(`+ ${now[to++]}\n`)
  }
  return [...lines, ...gone, ...come].join('')
}

/** For each pair of places, how many lines behind them are common, in order; undefined for texts that are too long. */
function commonLengths(old: readonly string[], now: readonly string[]): readonly Uint16Array[] | undefined {
  if (old.length > comparedMax || now.length > comparedMax) return undefined
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint16Array(now.length + 1))
  for (let at = old.length - 1; at >= 0; at--)
    for (let to = now.length - 1; to >= 0; to--) {
      const row = lengths[at]
      if (row === undefined) continue
      const isSame = old[at] === now[to]
      row[to] = isSame
        ? lengthAt(lengths, at + 1, to + 1) + 1
        : Math.max(lengthAt(lengths, at + 1, to), lengthAt(lengths, at, to + 1))
    }
  return lengths
}

function lengthAt(lengths: readonly Uint16Array[] | undefined, at: number, to: number): number {
  return lengths?.[at]?.[to] ?? 0
}
