// The page of this machine to which a browser comes back after a login (RFC 8252, section 7.3).

import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { LoginPages } from '../upstream/contracts/login-pages.js'
import { LoginError } from './login-error.js'

/** Listens until the browser has come back, or `close`. */
export class CallbackServer implements LoginPages {
  readonly redirectUri: string
  readonly parameters: Promise<URLSearchParams>
  readonly #server = createServer((request, response) => this.#answer(request, response))
  readonly #host: string
  readonly #startPath: string
  #received: (parameters: URLSearchParams) => void = () => {}
  #state: string | undefined
  #address = ''

  /** `startPath` redirects to the authorization server, so that no shell or list of processes shows the state. */
  constructor(port: number, hostname: string, startPath: string) {
    this.#host = `${hostname}:${port}`
    this.#startPath = startPath
    this.redirectUri = `http://${this.#host}/callback`
    this.parameters = new Promise((resolve) => {
      this.#received = resolve
    })
  }

  get startPage(): string {
    return `http://${this.#host}${this.#startPath}`
  }

  /** @throws LoginError where the port is taken */
  async listen(port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', (error: Error) =>
        reject(new LoginError(`port ${port} is taken: ${error.message}`)),
      )
      this.#server.listen(port, '127.0.0.1', resolve)
    })
  }

  expect(state: string, address: string): void {
    this.#state = state
    this.#address = address
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { url = '/', method, headers } = request
    // A page of another name, which points here by its DNS, gets nothing. Every page can ask for `//`, which is no address.
    if (headers.host !== this.#host || method !== 'GET' || !URL.canParse(url, this.redirectUri))
      return page(response, 404, 'Not found.')
    const { pathname, searchParams } = new URL(url, this.redirectUri)
    if (pathname === this.#startPath && this.#address !== '') {
      response.writeHead(302, { location: this.#address, 'cache-control': 'no-store' }).end()
      return
    }
    const state = searchParams.get('state')
    if (pathname !== '/callback' || state === null || state !== this.#state)
      return page(response, 404, 'This login is over, or was not started here.')
    this.#state = undefined
    // The words of the authorization server are shown by the log, once its identity was checked, and not by this page.
    const words = searchParams.has('error')
      ? 'The login was refused; the log of mcps-proxy has the reason.'
      : 'mcps-proxy has the answer.'
    page(response, 200, `${words} You can close this window.`)
    this.#received(searchParams)
  }
}

/** Takes the state and the code out of the address bar, and so out of the history of the window. */
const script = "history.replaceState(null, '', location.pathname)"

const headers = {
  'content-type': 'text/html; charset=utf-8',
  'cache-control': 'no-store',
  'content-security-policy': `default-src 'none'; script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  'referrer-policy': 'no-referrer',
}

/** `text` is a constant of this file. */
function page(response: ServerResponse, status: number, text: string): void {
  const html = `<!doctype html><title>mcps-proxy</title><script>${script}</script><p>${text}</p>\n`
  response.writeHead(status, headers).end(html)
}
