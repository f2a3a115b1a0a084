// Version 2 of the official library, which a plain installation leaves out: `npm ci --prefix test/conformance` brings it.

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './programs.js'

/** The options of a client over HTTP. */
export interface HttpOptions {
  readonly requestInit: { readonly headers: Readonly<Record<string, string>> }
  readonly reconnectionOptions: Readonly<Record<string, number>>
}

/** The documented parts of the client library that the tests use. */
export interface ClientLibrary {
  readonly Client: new (
    info: Readonly<Record<'name' | 'version', string>>,
    options: Readonly<Record<string, unknown>>,
  ) => LibraryClient
  readonly StreamableHTTPClientTransport: new (
    url: URL,
    options?: { readonly authProvider: object } | HttpOptions,
  ) => { finishAuth(code: string): Promise<void> }
  readonly SSEClientTransport: new (url: URL) => object
}

/** The module with its transport for programs. */
export interface StdioLibrary {
  readonly StdioClientTransport: new (program: {
    readonly command: string
    readonly args: readonly string[]
    readonly env: NodeJS.ProcessEnv
    readonly stderr: 'ignore'
  }) => object
}

export interface CallOptions {
  readonly onprogress?: (progress: {
    readonly progress: number
    readonly message?: string | undefined
  }) => void
  readonly timeout?: number
  readonly signal?: AbortSignal
}

export interface LibraryClient {
  connect(transport: object): Promise<void>
  close(): Promise<void>
  listTools(): Promise<unknown>
  callTool(params: Readonly<Record<string, unknown>>, options?: CallOptions): Promise<unknown>
  setLoggingLevel(level: string): Promise<unknown>
  setRequestHandler(method: string, answer: (request: unknown) => unknown): void
  setNotificationHandler(method: string, heard: (notification: unknown) => void): void
}

const home = resolve(root, 'test/conformance')
const packages = resolve(home, 'node_modules/@modelcontextprotocol')
const isInstalled = existsSync(resolve(packages, 'client')) && existsSync(resolve(packages, 'server'))

/** The reason to skip its tests; false if it is installed. */
export const missing: string | false =
  !isInstalled && 'test/conformance is not installed: npm ci --prefix test/conformance'

const moduleOf = (path: string): string => pathToFileURL(resolve(packages, path)).href

export async function clientLibrary(): Promise<ClientLibrary> {
  const library: ClientLibrary = await import(moduleOf('client/dist/index.mjs'))
  return library
}

export async function stdioLibrary(): Promise<StdioLibrary> {
  const library: StdioLibrary = await import(moduleOf('client/dist/stdio.mjs'))
  return library
}

/** A server of this version, of which its own file says in which ways it serves. */
export const serverProgram: string = resolve(home, 'sdk-server.mjs')

/** A program that speaks on stdio for a remote server. */
export const remoteProgram: string = resolve(home, 'node_modules/mcp-remote/dist/proxy.js')
