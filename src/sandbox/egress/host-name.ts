// The names of hosts, in the one form in which they are compared.

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'

/** No last label of an address, in whatever base it is written, begins with a letter, and every public one of a name does. */
const LAST_LABEL = '[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?'

const NAME = new RegExp(`^(?:${LABEL}\\.)+${LAST_LABEL}\\.?$`, 'i')

/** RFC 1035, section 2.3.4, without the dot at the end. */
const LENGTH_MAX = 253

/** In lower case and without the dot at the end; undefined for what is no public name of the DNS, such as an address. */
export function hostName(text: string): string | undefined {
  if (!NAME.test(text)) return undefined
  const name = text.toLowerCase().replace(/\.$/, '')
  return name.length > LENGTH_MAX ? undefined : name
}
