// The hosts that programs of a machine may reach, as a configuration names them.

/** The port of a host that is named without one: HTTPS. */
const USUAL_PORT = 443

/** The most characters of the list in a refusal. */
const SHOWN_LENGTH_MAX = 1000

interface AllowedHost {
  readonly name: string
  /** Whether the entry allows the names below `name`. */
  readonly isSuffix: boolean
  readonly port: number
}

/** `example.com`, `*.example.com`, `api.example.com:8443`. */
export class AllowedHosts {
  /** The list for people, cut when it is long. */
  readonly shown: string
  readonly #hosts: readonly AllowedHost[]

  /** An entry that is not a valid host name allows no host. */
  constructor(written: readonly string[]) {
    const whole = written.join(', ')
    this.shown = whole.length > SHOWN_LENGTH_MAX ? `${whole.slice(0, SHOWN_LENGTH_MAX)}…` : whole
    this.#hosts = written.flatMap((each) => allowedHost(each) ?? [])
  }

  /** `host` must be a result of `hostName`. */
  allows(host: string, port: number): boolean {
    return this.#hosts.some(
      ({ name, isSuffix, port: allowed }) =>
        (isSuffix ? host.endsWith(`.${name}`) : host === name) && port === allowed,
    )
  }
}

function allowedHost(written: string): AllowedHost | undefined {
  const [host = '', port] = written.split(':', 2)
  const isSuffix = host.startsWith('*.')
  const name = hostName(isSuffix ? host.slice(2) : host)
  return name === undefined
    ? undefined
    : { name, isSuffix, port: port === undefined ? USUAL_PORT : Number(port) }
}

const LABEL = '[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?'

/** No last label of an address begins with a letter, in any base, and every last label of a public name does. */
const LAST_LABEL = '[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?'

const NAME = new RegExp(`^(?:${LABEL}\\.)+${LAST_LABEL}\\.?$`, 'i')

/** RFC 1035, section 2.3.4, without the dot at the end. */
const LENGTH_MAX = 253

/** The name in lower case, without the dot at the end; undefined for a text that is no public DNS name, such as an address. */
export function hostName(text: string): string | undefined {
  if (!NAME.test(text)) return undefined
  const name = text.toLowerCase().replace(/\.$/, '')
  return name.length > LENGTH_MAX ? undefined : name
}
