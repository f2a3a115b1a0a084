/** Shows the lines that differ. At each place, removed lines come before added lines. */
export function changedLines(before: string, after: string): string {
  const [old, now] = [before.split('\n'), after.split('\n')]
  const [gone, come, lines]: [string[], string[], string[]] = [[], [], []]
  for (let [at, to] = [0, 0]; at < old.length || to < now.length;) {
    const [line = '', other = ''] = [old[at], now[to]]
    if (at < old.length && to < now.length && line === other) {
      lines.push(...gone.splice(0), ...come.splice(0))
      at++
      to++
    } else if (at < old.length && distance(old, other, at) <= distance(now, line, to)) {
      gone.push(`- ${line}\n`)
      at++
    } else {
      come.push(`+ ${other}\n`)
      to++
    }
  }
  return [...lines, ...gone, ...come].join('')
}

/** The number of lines up to the next equal line; Infinity without one, or at the end of the text. */
function distance(lines: readonly string[], line: string, from: number): number {
  const found = from < lines.length ? lines.indexOf(line, from) : -1
  return found < 0 ? Infinity : found - from
}
