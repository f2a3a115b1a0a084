/** Returns a test whether a name matches one of the patterns, in which `*` stands for any characters. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  const split = patterns.map((pattern) => pattern.split('*'))
  return (name) => split.some((parts) => isMatch(parts, name))
}

/** `parts` are the texts between the stars. The loop searches for each once, however long the name is. */
function isMatch(parts: readonly string[], name: string): boolean {
  const [first = '', last] = [parts[0], parts.length === 1 ? undefined : parts.at(-1)]
  if (last === undefined) return name === first
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length >= at + last.length && name.endsWith(last)
}
