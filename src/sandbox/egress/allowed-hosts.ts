// The hosts that programs of a machine may reach, as a configuration names them.

/** Of a host that is named without a port: HTTPS. */
const USUAL_PORT = 443

/** Of the list, in what a program is told. */
const SHOWN_LENGTH_MAX = 1000

interface AllowedHost {
  readonly name: string
  /** Whether it is what stands before the name that is allowed. */
  readonly isSuffix: boolean
  readonly port: number
}

/** `example.com`, `*.example.com`, `api.example.com:8443`. */
export class AllowedHosts {
  /** The list for people, cut when it is long. */
  readonly shown: string
  readonly #hosts: readonly AllowedHost[]

  /** What names no host allows none. */
  constructor(written: readonly string[]) {
    const whole = written.join(', ')
    this.shown = whole.length > SHOWN_LENGTH_MAX ? `${whole.slice(0, SHOWN_LENGTH_MAX)}…` : whole
    this.#hosts = written.flatMap((each) => allowedHost(each) ?? [])
  }

  /** `host` as `hostName` gives it. */
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
