export function cut(bytes: Buffer, random: Iterator<number>): Buffer[] {
  const parts: Buffer[] = []
  for (let at = 0; at < bytes.length;) {
    const size: number = random.next().value
    parts.push(bytes.subarray(at, at + size))
    at += size
  }
  return parts
}
