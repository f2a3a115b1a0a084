// The page on this machine to which the browser returns after a login (RFC 8252, section 7.3).

import { createHash, randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { errorCode, errorText } from '../text/error-text.js'
import { LoginError } from './login-error.js'

/** The page where one login starts, and the address to which the browser returns. */
export interface LoginPages {
  readonly startPage: string
  readonly redirectUri: string
  /** Resolves with the parameters of the first callback that has the expected state. */
  readonly parameters: Promise<URLSearchParams>
  /** Makes the start page redirect to `address`, and accepts the callback with this state. */
  expect(state: string, address: string): void
  close(): void
}

/** Opens the pages of one login of a user. Returns undefined while too many are open. */
export type OpenLoginPages = () => LoginPages | undefined

const absent: ReadonlySet<string | undefined> = new Set(['EADDRNOTAVAIL', 'EAFNOSUPPORT', 'EINVAL'])

export class CallbackServer implements LoginPages {
  readonly redirectUri: string
  readonly parameters: Promise<URLSearchParams>
  readonly #servers: Server[] = []
  readonly #host: string
  readonly #startPath = `/login/${randomBytes(16).toString('hex')}`
  /** The cookie of the first browser on the start page. All users of this machine can see that address in `ps`. */
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

  /** `localhost` listens on both loopback addresses: a browser may try either. @throws LoginError if the port is taken */
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
    // The check of the host stops DNS rebinding. A page can request `//`, which is not a valid URL.
    if (headers.host !== this.#host || method !== 'GET' || !URL.canParse(url, this.redirectUri))
      return page(response, 404, 'Not found.')
    const { pathname, searchParams } = new URL(url, this.redirectUri)
    if (pathname === this.#startPath && this.#address !== '') return this.#start(request, response)
    const state = searchParams.get('state')
    if (pathname !== '/callback' || state === null || state !== this.#state)
      return page(response, 404, 'This login has ended, or was not started here.')
    this.#state = undefined
    // This text is not from the authorization server. The log has its error, after a check of its identity.
    const words = searchParams.has('error')
      ? 'The login was refused; the log of mcps-proxy has the reason.'
      : 'mcps-proxy has the answer.'
    page(response, 200, `${words} You can close this window.`)
    this.#received(searchParams)
  }

  /** Only the first browser that opens the start page gets the state. That browser may open the page again. */
  #start({ headers: { cookie = '' } }: IncomingMessage, response: ServerResponse): void {
    if (this.#cookie !== undefined && !cookie.split('; ').includes(this.#cookie))
      return page(response, 403, OPENED)
    // Browsers send the cookies of a host to all its ports, so the name of the cookie contains the port.
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

/** Removes the state and the code from the history of the browser. */
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
