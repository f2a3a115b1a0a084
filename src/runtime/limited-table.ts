/** Adds the entry as the newest. Above `sizeMax`, removes the oldest entry. */
export function putNewest<K, V>(map: Map<K, V>, key: K, value: V, sizeMax: number): void {
  map.delete(key)
  map.set(key, value)
  const [oldest] = map
  if (map.size > sizeMax && oldest !== undefined) map.delete(oldest[0])
}

/** Returns the entries of the owner with the most entries, or of all owners that share this count. */
export function ofMost<T>(entries: readonly T[], ownerOf: (entry: T) => string): T[] {
  const counts = new Map<string, number>()
  for (const each of entries) counts.set(ownerOf(each), (counts.get(ownerOf(each)) ?? 0) + 1)
  const most = Math.max(...counts.values())
  return entries.filter((each) => counts.get(ownerOf(each)) === most)
}
