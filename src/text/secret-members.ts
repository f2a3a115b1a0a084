// Members of JSON whose names say that their values are secrets.

/** Texts under names like these are secrets in most servers; at a cut, the text may have no end. */
const secretMember =
  /("[^"\\]{0,64}(?:password|passwd|passphrase|secret|token|api[-_]?key|authorization|credential)[^"\\]{0,64}"\s*:\s*)"(?:[^"\\]|\\.)*(?:"|\\?$)/gi

/** JSON, or the beginning of it, without the texts under such names. */
export function withoutSecretMembers(json: string): string {
  return json.replaceAll(secretMember, '$1"[redacted]"')
}
