// Ids that nobody guesses (RFC 9562, version 4).

const BYTES = 16
const VERSION_AT = 6
const VARIANT_AT = 8

export function uuid(secret: (bytes: number) => Buffer): string {
  const bytes = secret(BYTES)
  bytes[VERSION_AT] = ((bytes[VERSION_AT] ?? 0) & 0x0f) | 0x40
  bytes[VARIANT_AT] = ((bytes[VARIANT_AT] ?? 0) & 0x3f) | 0x80
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
}
