// The paths of the inspector below /ui. Three files are public, and every other path needs the key.

import { Buffer } from 'node:buffer'
import { createHash, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programFolder } from '../folder.js'
import type { RequestHandler } from '../transports/http-server/endpoint.js'
import { bearerToken, targetOf } from '../transports/http-server/access.js'
import type { HttpRequest, RequestHead, Fields, HttpResponse } from '../transports/http1/server.js'
import type { ServeResult } from '../transports/http-server/refusal.js'
import { errorText } from '../text/error-text.js'
import { readRanges } from './recording.js'
import { VIEWERS_MAX, type Inspector } from './inspector.js'

/** The page loads, frames and sends nothing outside its origin, and no text becomes markup. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
].join('; ')

const securityFields: Fields = Object.entries({
  'content-security-policy': POLICY,
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
}).flat()

interface Asset {
  readonly bytes: Buffer
  readonly type: string
}

const files = [
  ['/ui/', 'index.html', 'text/html; charset=utf-8'],
  ['/ui/app.js', 'app.js', 'text/javascript; charset=utf-8'],
  ['/ui/app.css', 'app.css', 'text/css; charset=utf-8'],
] as const

/** Reads the files of the page at the start, because an upgrade may replace them later. @throws the system's error */
export function readAssets(folder: string = join(programFolder, 'ui')): ReadonlyMap<string, Asset> {
  return new Map(files.map(([path, name, type]) => [path, { bytes: readFileSync(join(folder, name)), type }]))
}

/** The handler of a path that needs the key; `rest` is the group of its pattern. */
type Page = (request: HttpRequest, rest: string) => void | Promise<void>

export class InspectorPages {
  readonly #inspector: Inspector
  readonly #keyHash: Buffer
  readonly #assets: ReadonlyMap<string, Asset>
  readonly #pages: readonly (readonly [method: string, path: RegExp, page: Page])[]

  constructor(inspector: Inspector, key: string, assets: ReadonlyMap<string, Asset> = readAssets()) {
    this.#inspector = inspector
    this.#keyHash = sha256(key)
    this.#assets = assets
    this.#pages = [
      ['GET', /^\/ui\/feed$/, ({ response }) => this.#feed(response)],
      ['GET', /^\/ui\/status$/, async ({ response }) => sendJson(response, await inspector.status.report())],
      ['POST', /^\/ui\/export$/, (request) => this.#export(request)],
      ['POST', /^\/ui\/servers$/, (request) => this.#control(request)],
      ['GET', /^\/ui\/frames\/(\d{1,15})$/, ({ response }, n) => this.#frame(response, Number(n))],
    ]
  }

  /** Returns the handler of a path; undefined for a path outside /ui. */
  find(path: string): RequestHandler | undefined {
    if (path !== '/ui' && !path.startsWith('/ui/')) return undefined
    return (request) => this.#serve(request)
  }

  #serve(request: HttpRequest): ServeResult {
    const { head, response } = request
    const { path } = targetOf(head.target)
    if (isForeign(head)) return refuse(response, 403, 'Requests of other pages are not allowed')
    if (path === '/ui') return sendRedirect(response)
    const asset = this.#assets.get(path)
    if (asset !== undefined) return sendAsset(head, response, asset)
    if (!this.#hasKey(head))
      return refuse(
        response,
        401,
        'The key of the inspector is required: open the address that the start printed',
      )
    for (const [method, pattern, page] of this.#pages) {
      const [whole, rest = ''] = pattern.exec(path) ?? []
      if (whole === undefined) continue
      if (head.method !== method) return refuse(response, 405, `This path takes ${method}`)
      const served = page(request, rest)
      return served instanceof Promise ? served.then(() => undefined) : undefined
    }
    return refuse(response, 404, 'There is nothing here')
  }

  #hasKey(head: RequestHead): boolean {
    const key = bearerToken(head)
    return key !== undefined && timingSafeEqual(sha256(key), this.#keyHash)
  }

  #feed(response: HttpResponse): undefined {
    if (this.#inspector.isFull)
      return refuse(
        response,
        503,
        `${VIEWERS_MAX} pages of the inspector are open already: close one of them`,
      )
    response.stream(200, fieldsOf('application/x-ndjson'))
    response.whenClosed(this.#inspector.view(response))
  }

  async #control(request: HttpRequest): Promise<void> {
    const wanted = readControl(await readBody(request, CONTROL_BYTES_MAX))
    const { response } = request
    if (wanted === undefined)
      return refuse(response, 400, 'The body must be {"schema":…,"server":…,"action":"restart" or "stop"}')
    const proxy = this.#inspector.status.proxies.get(wanted.schema)
    if (proxy === undefined) return refuse(response, 404, `There is no group '${wanted.schema}'`)
    try {
      await proxy[wanted.action](wanted.server)
      sendJson(response, {})
    } catch (error) {
      refuse(response, 409, this.#inspector.redactor.cleanText(errorText(error)))
    }
  }

  async #export(request: HttpRequest): Promise<void> {
    const { response } = request
    const text = await readBody(request, RANGES_BYTES_MAX)
    const ranges = text === undefined ? undefined : readRanges(text)
    if (ranges === undefined)
      return refuse(response, 400, 'The body must be numbers of frames like 1-200,310')
    const parts = await this.#inspector.recording(ranges)
    response.send(200, fieldsOf('application/x-ndjson'), Buffer.concat(parts))
  }

  #frame(response: HttpResponse, n: number): void {
    const view = this.#inspector.frame(n)
    if (view === undefined) refuse(response, 404, 'This message is older than those that are kept')
    else sendJson(response, view)
  }
}

interface Control {
  readonly schema: string
  readonly server: string
  readonly action: 'restart' | 'stop'
}

function readControl(body: string | undefined): Control | undefined {
  try {
    const read: unknown = JSON.parse(body ?? '')
    if (typeof read !== 'object' || read === null) return undefined
    const { schema, server, action }: Partial<Record<string, unknown>> = { ...read }
    const isKnown = action === 'restart' || action === 'stop'
    return typeof schema === 'string' && typeof server === 'string' && isKnown
      ? { schema, server, action }
      : undefined
  } catch {
    return undefined
  }
}

/** The page sends no longer bodies. */
const CONTROL_BYTES_MAX = 4096
const RANGES_BYTES_MAX = 512 * 1024

/** Returns undefined if the body is too long, or the client disconnects before its end. */
function readBody({ body, wire }: HttpRequest, bytesMax: number): Promise<string | undefined> {
  if (body !== undefined) return Promise.resolve(body.length > bytesMax ? undefined : body.toString('utf8'))
  const chunks: Buffer[] = []
  let length = 0
  return new Promise((resolve) => {
    wire.readBody({
      data: (chunk) => {
        length += chunk.length
        if (length <= bytesMax) chunks.push(Buffer.from(chunk))
      },
      end: () => resolve(length > bytesMax ? undefined : Buffer.concat(chunks).toString('utf8')),
      gone: () => resolve(undefined),
    })
  })
}

/** Whether a page of another origin sent the request, according to the browser (Fetch Metadata Request Headers). */
function isForeign(head: RequestHead): boolean {
  const origin = head.fields.get('origin')
  const host = head.fields.get('host')
  const site = head.fields.get('sec-fetch-site') ?? 'same-origin'
  const isNavigation = site === 'none' && head.fields.get('sec-fetch-mode') === 'navigate'
  if (origin !== undefined && origin !== `http://${host}` && origin !== `https://${host}`) return true
  return site !== 'same-origin' && !isNavigation
}

function fieldsOf(type: string): Fields {
  return [...securityFields, 'content-type', type, 'cache-control', 'no-store']
}

function sendRedirect(response: HttpResponse): undefined {
  response.send(308, [...securityFields, 'location', '/ui/'])
}

function sendAsset(head: RequestHead, response: HttpResponse, { bytes, type }: Asset): undefined {
  if (head.method !== 'GET' && head.method !== 'HEAD') return refuse(response, 405, 'This path takes GET')
  response.send(200, fieldsOf(type), bytes)
}

function sendJson(response: HttpResponse, value: unknown, status = 200): void {
  response.send(status, fieldsOf('application/json'), Buffer.from(JSON.stringify(value)))
}

function refuse(response: HttpResponse, status: number, error: string): undefined {
  sendJson(response, { error }, status)
}

function sha256(text: string | Buffer): Buffer {
  return createHash('sha256').update(text).digest()
}
