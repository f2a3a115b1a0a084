// The page of this machine to which a browser comes back after a login (RFC 8252, section 7.3).

import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { errorCode, errorText } from '../text/error-text.js'
import { LoginError } from './login-error.js'

/** The address at which one login begins, and to which the browser comes back. */
export interface LoginPages {
  readonly startPage: string
  readonly redirectUri: string
  /** The parameters of the first callback that has the state. */
  readonly parameters: Promise<URLSearchParams>
  /** From now on the start page leads there, and a callback with this state is the one that is awaited. */
  expect(state: string, address: string): void
  close(): void
}

/** Opens the pages of one login of a user; undefined while too many are open. */
export type OpenLoginPages = () => LoginPages | undefined

/** The errors of a machine without IPv6. */
const absent: ReadonlySet<string | undefined> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

export class CallbackServer implements LoginPages {
  readonly redirectUri: string
  readonly parameters: Promise<URLSearchParams>
  readonly #servers: Server[] = []
  readonly #host: string
  readonly #startPath = `/login/${randomBytes(16).toString('hex')}`
  /** The browser that has opened the start page; every user of this machine may read that address in the list of processes. */
  #cookie: string | undefined
  #received: (parameters: URLSearchParams) => void = () => {}
  #state: string | undefined
  #address = ''

  private constructor(host: string) {
    this.#host = host
    this.redirectUri = `http://${host}/callback`
    this.parameters = new Promise((resolve) => {
      this.#received = resolve
    })
  }

  /** `localhost` listens on both loopback addresses, since a browser may try either. @throws LoginError where the port is taken */
  static async listen(port: number, hostname: '127.0.0.1' | 'localhost'): Promise<CallbackServer> {
    const callback = new CallbackServer(`${hostname}:${port}`)
    try {
      await callback.#listen(port, '127.0.0.1')
      if (hostname === 'localhost') await callback.#listen(port, '::1')
    } catch (error) {
      callback.close()
      throw new LoginError(`port ${port} is taken: ${errorText(error)}`)
    }
    return callback
  }

  /** The start page redirects to the authorization server, so that no shell and no list of processes shows the state. */
  get startPage(): string {
    return `http://${this.#host}${this.#startPath}`
  }

  async #listen(port: number, address: string): Promise<void> {
    const server = createServer((request, response) => this.#answer(request, response))
    try {
      await new Promise<void>((resolve, reject) => {
        server.once('error', reject).listen(port, address, resolve)
      })
      this.#servers.push(server)
    } catch (error) {
      if (address !== '::1' || !absent.has(errorCode(error))) throw error
    }
  }

  expect(state: string, address: string): void {
    this.#state = state
    this.#address = address
  }

  close(): void {
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '/', method, headers } = request
    // The check of the name stops DNS rebinding. A page can request `//`, which is no address.
    if (headers.host !== this.#host || method !== 'GET' || !URL.canParse(url, this.redirectUri))
      return page(response, 404, 'Not found.')
    const { pathname, searchParams } = new URL(url, this.redirectUri)
    if (pathname === this.#startPath && this.#address !== '') return this.#start(request, response)
    const state = searchParams.get('state')
    if (pathname !== '/callback' || state === null || state !== this.#state)
      return page(response, 404, 'This login is over, or was not started here.')
    this.#state = undefined
    // The log shows the words of the authorization server, after the check of its identity.
    const words = searchParams.has('error')
      ? 'The login was refused; the log of mcps-proxy has the reason.'
      : 'mcps-proxy has the answer.'
    page(response, 200, `${words} You can close this window.`)
    this.#received(searchParams)
  }

  /** Only the browser that was here first learns the state, and may come again. */
  #start({ headers: { cookie = '' } }: IncomingMessage, response: ServerResponse): void {
    if (this.#cookie !== undefined && !cookie.split('; ').includes(this.#cookie))
      return page(response, 403, OPENED)
    // Cookies of one host name are the same for all ports.
    this.#cookie ??= `mcps-login-${this.#host.replace(/.*:/, '')}=${randomBytes(32).toString('base64url')}`
    response
      .writeHead(302, {
        location: this.#address,
        'set-cookie': `${this.#cookie}; Path=/; HttpOnly; SameSite=Lax; Max-Age=900`,
        'cache-control': 'no-store',
        'referrer-policy': 'no-referrer',
      })
      .end()
  }
}

const OPENED =
  'Another browser has opened this login already. Go on there, or end this login and begin it again; if you have opened no other browser, another user of this machine has.'

/** Removes the state and the code from the history of the window. */
const script = "history.replaceState(null, '', location.pathname)"

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

function page(response: ServerResponse, status: number, text: string): void {
  const html = `<!doctype html><title>mcps-proxy</title><script>${script}</script><p>${text}</p>\n`
  response.writeHead(status, headers).end(html)
}
