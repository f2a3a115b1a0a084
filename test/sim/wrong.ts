// The faults of a faulty proxy. They change a message or a system call on its way, so that the simulator sees what a
// proxy with that fault would send. They do not depend on the sources of the proxy.

import type { Readable } from 'node:stream'
import type { McpProxy } from '../../src/proxy/proxy-interface.js'
import type { LogRecord, Runtime } from '../../src/runtime/runtime.js'
import type { ToldEvent } from './http-reader.js'
import type { LimitsPlan } from './plan.js'

export interface Way {
  /** The name of the client, or of the process or session of the server. */
  readonly to: string
  readonly pass: (text: string, delayMs?: number) => void
}

export type ServerWay = Way & { readonly reply: (text: string) => void }

/** Each member changes one side of the simulation. */
export interface Wrong {
  readonly toClient?: (text: string, way: Way) => void
  readonly toServer?: (text: string, way: ServerWay) => void
  readonly fromClient?: (text: string) => string
  /** Requests over HTTP get correct header fields. */
  readonly rightHeads?: boolean
  /** Instances do not notify each other. */
  readonly tellsNobody?: boolean
  /** The id of a session suffices to use it. */
  readonly trustsIds?: boolean
  readonly event?: (event: ToldEvent) => readonly ToldEvent[]
  readonly status?: (status: number) => number
  readonly runtime?: (runtime: Runtime) => Partial<Runtime>
  readonly limits?: (limits: LimitsPlan) => LimitsPlan
  readonly proxy?: (proxy: McpProxy) => Partial<McpProxy>
  readonly record?: (record: LogRecord) => LogRecord
  readonly audit?: (line: string) => readonly string[]
  readonly log?: (line: string) => string
  readonly stream?: (stream: Readable) => void
}

/** An object with some members replaced. */
export function changed<T extends object>(target: T, members: Partial<T> | undefined): T {
  if (members === undefined) return target
  return new Proxy(target, {
    get(_, name): unknown {
      const own: unknown = Reflect.get(members, name) ?? Reflect.get(target, name, target)
      return typeof own === 'function' ? own.bind(target) : own
    },
  })
}
