// The hosts that programs of a machine may reach, as a configuration names them.

import { hostName } from './host-name.js'

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
