/** Puts it behind all others; beyond `sizeMax` the one that was put first is forgotten. */
export function putNewest<K, V>(map: Map<K, V>, key: K, value: V, sizeMax: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map
  if (map.size > sizeMax && oldest !== undefined) map.delete(oldest[0])
}

/** The entries of the owner that has most, or of several that have as many. */
export function ofMost<T>(entries: readonly T[], ownerOf: (entry: T) => string): T[] {
  const counts = new Map<string, number>()
  for (const each of entries) counts.set(ownerOf(each), (counts.get(ownerOf(each)) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return entries.filter((each) => counts.get(ownerOf(each)) === most)
}
