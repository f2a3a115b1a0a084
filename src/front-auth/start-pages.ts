// The pages at which users log in to servers from any machine: `/login/…` of the front.
//
// A link to such a page can reach another person. So the person at the browser first logs in at the front's
// authorization server, which proves who the person is. A cookie carries the proof to the callback.

import { createHash, randomBytes } from 'node:crypto'
import type { FrontLogin } from '../config/configuration.js'
import type { LoginRuntime } from '../login/login-http.js'
import type { RequestHandler } from '../transports/http-server/endpoint.js'
import { targetOf } from '../transports/http-server/access.js'
import type { HttpRequest, Fields, HttpResponse } from '../transports/http1/server.js'
import { Deferred } from '../runtime/deferred.js'
import { putNewest } from '../runtime/limited-table.js'
import { errorText } from '../text/error-text.js'
import type { LoginPages } from '../login/callback-server.js'
import type { BegunLogin } from '../login/token-requests.js'
import { Identity, randomText } from './identity.js'

/** The limit of pending logins of all users. Each lasts ten minutes at most. */
export const LOGINS_MAX = 1000

/** The limit of browsers that have opened one start page. The preview of a link in a chat is one too. */
export const BROWSERS_MAX = 8

const COOKIE = '__Host-mcps-login'

interface Visit {
  readonly browser: string
  readonly begun: BegunLogin
}

interface PendingLogin {
  readonly user: string
  readonly path: string
  /** Keyed by the states of the logins at the front; the oldest comes first. */
  readonly visits: Map<string, Visit>
  /** The hash of the cookie of the browser at which the user was last identified. */
  provenBrowser: string | undefined
  /** The state of the login at the server. */
  state: string | undefined
  /** The address of the authorization server, to which the browser is sent. */
  address: string
  readonly received: (parameters: URLSearchParams) => void
}

export class StartPages {
  readonly #origin: string
  /** The path of the public address, which a reverse proxy may remove. */
  readonly #prefix: string
  readonly #issuer: string
  readonly #identity: Identity
  readonly #logins = new Set<PendingLogin>()

  constructor(publicUrl: string, login: FrontLogin, runtime: LoginRuntime) {
    this.#origin = publicUrl
    this.#prefix = new URL(publicUrl).pathname.replace(/\/$/, '')
    this.#issuer = login.issuer
    this.#identity = new Identity(login, `${publicUrl}/login/identity`, runtime)
  }

  /** Whether this user can log in at the authorization server of the front. */
  knows(user: string): boolean {
    return user.startsWith(`${this.#issuer}#`)
  }

  /** Opens the pages of one login of a user; undefined while there are too many logins. */
  open(user: string): LoginPages | undefined {
    if (this.#logins.size >= LOGINS_MAX) return undefined
    const parameters = new Deferred<URLSearchParams>()
    const path = `/login/${randomBytes(16).toString('hex')}`
    const login: PendingLogin = {
      user,
      path,
      visits: new Map(),
      provenBrowser: undefined,
      state: undefined,
      address: '',
      received: (query) => parameters.resolve(query),
    }
    this.#logins.add(login)
    return {
      startPage: this.#origin + path,
      redirectUri: `${this.#origin}/login/return`,
      parameters: parameters.promise,
      expect: (state, address) => {
        login.state = state
        login.address = address
      },
      close: () => void this.#logins.delete(login),
    }
  }

  /** The handler of a path; undefined if the path is none of these pages. */
  find(sent: string): RequestHandler | undefined {
    const path = sent.startsWith(`${this.#prefix}/`) ? sent.slice(this.#prefix.length) : sent
    if (!path.startsWith('/login/')) return undefined
    return async (request) => {
      await this.#answer(request, path).catch((error: unknown) =>
        page(request.response, 502, `The login cannot go on: ${errorText(error)}`),
      )
      return undefined
    }
  }

  async #answer({ head, response }: HttpRequest, path: string): Promise<void> {
    // A browser that opens a page sends no `Origin`; a script of another page does.
    if (head.method !== 'GET' || head.fields.get('origin') !== undefined)
      return page(response, 405, 'A login is opened by a browser.')
    const query = new URLSearchParams(targetOf(head.target).query)
    const cookie = cookieIn(head.fields.get('cookie'))
    if (path === '/login/identity') return this.#identified(response, query, cookie)
    if (path === '/login/return') return this.#returned(response, query, cookie)
    const end = ENDS.get(path)
    if (end !== undefined) return page(response, 200, end)
    const login = [...this.#logins].find((each) => each.path === path)
    if (login === undefined || login.address === '') return page(response, 404, OVER)
    await this.#visit(response, login, cookie)
  }

  async #visit(response: HttpResponse, { visits }: PendingLogin, cookie = randomText()): Promise<void> {
    const begun = await this.#identity.begin()
    putNewest(visits, begun.state, { browser: hashOf(cookie), begun }, BROWSERS_MAX)
    const fields = ['set-cookie', `${COOKIE}=${cookie}; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=900`]
    redirect(response, begun.address, fields)
  }

  async #identified(response: HttpResponse, query: URLSearchParams, cookie = ''): Promise<void> {
    const state = query.get('state') ?? ''
    const login = [...this.#logins].find(({ visits }) => visits.has(state))
    const visit = login?.visits.get(state)
    if (login === undefined || visit?.browser !== hashOf(cookie)) return page(response, 404, OVER)
    login.visits.delete(state)
    const principal = await this.#identity.principal(visit.begun, query)
    if (principal !== login.user) return page(response, 403, OTHER_PERSON)
    // The login may have ended meanwhile.
    if (!this.#logins.has(login)) return page(response, 404, OVER)
    login.provenBrowser = visit.browser
    redirect(response, login.address)
  }

  #returned(response: HttpResponse, query: URLSearchParams, cookie = ''): void {
    const state = query.get('state')
    const login = [...this.#logins].find((each) => state !== null && each.state === state)
    if (login === undefined || login.provenBrowser !== hashOf(cookie)) return page(response, 404, OVER)
    login.state = undefined
    // The tool, not this page, shows the server's words, after it has checked the identity of the server.
    const end = query.has('error') ? 'refused' : 'done'
    // The redirect keeps state and code out of the history of the window.
    redirect(response, `${this.#origin}/login/${end}`)
    login.received(query)
  }
}

const OVER = 'This login has ended, or was started in another browser. Start it again in your client.'
const OTHER_PERSON = 'You are not the user of this login. Start a login in your own client.'
const ENDS: ReadonlyMap<string, string> = new Map([
  ['/login/done', 'mcps-proxy has the answer. You can close this window.'],
  ['/login/refused', 'The login was refused. You can close this window.'],
])

/** A browser keeps its cookie, because it may have begun several logins. */
function cookieIn(field: string | undefined): string | undefined {
  const [, value] = new RegExp(`(?:^|; )${COOKIE}=([\\w-]{43})(?:;|$)`).exec(field ?? '') ?? []
  return value
}

function hashOf(cookie: string): string {
  return createHash('sha256').update(cookie).digest('base64url')
}

const safe: Fields = Object.entries({
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
}).flat()

function redirect(response: HttpResponse, location: string, fields: Fields = []): void {
  response.send(302, ['location', location, ...fields, ...safe])
}

function page(response: HttpResponse, status: number, words: string): void {
  response.send(status, ['content-type', 'text/plain; charset=utf-8', ...safe], Buffer.from(`${words}\n`))
}
