// Serves the inspector on a separate port, for a proxy on stdin and stdout.

import { Front } from '../gateway/serving.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { transportRefused } from '../mcp/error-codes.js'
import { defaultHttpServerLimits } from '../transports/http-server/front-limits.js'
import type { HttpAddress } from '../transports/http-server/http-server.js'
import type { InspectorPages } from './pages.js'

export interface PagesListener extends HttpAddress {
  close(): Promise<void>
}

/** Listens on the loopback address. @throws the system's error with a message for the person who started the proxy */
export async function listenForPages(
  pages: Pick<InspectorPages, 'find'>,
  port: number,
  { runtime, log }: { readonly runtime: Runtime; readonly log: LogSink },
): Promise<PagesListener> {
  const rules = {
    token: undefined,
    tokens: undefined,
    allowedHosts: [],
    cors: { enabled: false, origins: [], methods: [], credentials: false, allowedHeaders: [] },
  }
  const remedy = 'choose another one with --ui PORT; --ui alone takes a free one'
  const front = new Front(
    {
      ...rules,
      host: '127.0.0.1',
      port,
      allowUnauthenticated: false,
      limits: defaultHttpServerLimits,
      log,
      runtime,
      source: '--ui',
      remedies: {
        token: '',
        port: remedy,
        host: remedy,
        page: () => 'only its own page is',
        name: () => 'use 127.0.0.1',
      },
    },
    {
      handlerOf: (path) => pages.find(path),
      find: () => ({
        kind: 'nothing',
        isForAll: true,
        refusal: { status: 404, error: transportRefused('The inspector is at /ui/') },
      }),
    },
    () => () => undefined,
  )
  const address = await front.listen()
  return { ...address, close: () => front.server.close() }
}
