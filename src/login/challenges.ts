// What a server says of the login that it wants: `WWW-Authenticate` (RFC 9110, section 11.6.1; RFC 6750, section 3).

/** The parameters of a challenge of the scheme `Bearer`, with names in lower case. */
export type BearerChallenge = ReadonlyMap<string, string>

const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"

/** A parameter, or the name of a scheme, which stands before a space, a comma or the end. */
const piece = `(${token})\\s*=\\s*(?:"((?:[^"\\\\]|\\\\.)*)"|(${token}))|(${token})(?=\\s|,|$)`

/** The first challenge of the scheme `Bearer`; undefined where there is none. Other schemes and what cannot be read are passed over. */
export function bearerChallenge(fields: readonly string[]): BearerChallenge | undefined {
  let found: Map<string, string> | undefined
  for (const field of fields)
    for (const [, name = '', quoted, plain, scheme] of field.matchAll(new RegExp(piece, 'g'))) {
      if (scheme === undefined)
        found?.set(name.toLowerCase(), quoted?.replaceAll(/\\(.)/g, '$1') ?? plain ?? '')
      else if (found !== undefined) return found
      else if (scheme.toLowerCase() === 'bearer') found = new Map()
    }
  return found
}

/** The scopes of a text, in its order, each once. */
export function scopesIn(...texts: readonly (string | undefined)[]): string[] {
  return [...new Set(texts.flatMap((text) => text?.split(' ') ?? []).filter((scope) => scope !== ''))]
}
