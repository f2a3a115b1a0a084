/** Puts it behind all others; beyond `sizeMax` the one that was put first is forgotten. */
export function putNewest<K, V>(map: Map<K, V>, key: K, value: V, sizeMax: number): void {
  map.delete(key)
  map.set(key, value)
  if (map.size <= sizeMax) return
  for (const oldest of map.keys()) {
    map.delete(oldest)
    return
  }
}
