// A configuration as a file has it, for those who write one in their own program.
//
// The types are made from the tables of fields that the validator reads with, so that the two cannot part. A key that is
// undefined counts as absent.

import type { AuditValues } from './audit.js'
import type {
  corsFields,
  FrontValues,
  inputsFields,
  LoggingValues,
  RootValues,
  SchemaValues,
  StdioValues,
  UiValues,
} from './fields.js'
import type { limitsFields } from './policy.js'
import type { lockFields, serverLockFields } from './lock.js'
import type { sharedSandboxFields } from './process-sandbox.js'
import type { ProfileToolValues, ProfileValues } from './profiles.js'
import type { SandboxValues, TemplateValues } from './sandbox-fields.js'
import type { ValuesOf } from './section.js'
import type {
  AuthValues,
  HttpServerValues,
  kindByType,
  ServerValues,
  SharedValues,
  SseServerValues,
  toolsFields,
} from './server-fields.js'
import type { StdioServerValues } from './stdio-server.js'

/** A value as JSON has it: a map is an object there, and an object may lack keys. */
type Written<T> =
  T extends ReadonlyMap<string, infer V>
    ? Readonly<Record<string, Written<V>>>
    : T extends readonly (infer E)[]
      ? readonly Written<E>[]
      : T extends object
        ? Keys<T>
        : T

/** The keys of a section, none of them required. */
type Keys<Values> = { readonly [K in keyof Values]?: Written<Values[K]> | undefined } & {
  readonly $comment?: unknown
}

/** The same with a size, which may be text such as `10MB` too. */
type WithSize<Values, Size extends keyof Values> = Keys<Omit<Values, Size>> & {
  readonly [K in Size]?: number | string | undefined
}

/** How files write the type of a server of this kind. */
type TypeOf<Kind> = {
  [T in keyof typeof kindByType]: (typeof kindByType)[T] extends Kind ? T : never
}[keyof typeof kindByType]

type AnyServerKeys = Keys<
  ServerValues & SharedValues & ValuesOf<typeof serverLockFields> & ValuesOf<typeof toolsFields>
>

/** The address stands under one of three names. */
type Address = Readonly<Record<'url', string> | Record<'serverUrl', string> | Record<'httpUrl', string>>

type RemoteKeys = Address &
  Keys<Omit<HttpServerValues, 'url' | 'serverUrl' | 'httpUrl' | 'auth'>> & {
    readonly auth?:
      (Keys<Omit<AuthValues, 'type'>> & { readonly type: NonNullable<AuthValues['type']> }) | undefined
  }

/** A program that is started and spoken to on its stdin and stdout. */
export type StdioServerJson = AnyServerKeys &
  Keys<Omit<StdioServerValues, 'command'>> & {
    readonly command: string
    readonly type?: TypeOf<'stdio'> | undefined
  }

/** A server reached over Streamable HTTP. */
export type HttpServerJson = AnyServerKeys & RemoteKeys & { readonly type?: TypeOf<'http'> | undefined }

/** A server reached over the older HTTP+SSE transport. */
export type SseServerJson = AnyServerKeys &
  RemoteKeys &
  Keys<SseServerValues> & { readonly type: TypeOf<'sse'> }

/** Code of clients, run in sandboxes of this process. */
export type SandboxServerJson = AnyServerKeys &
  Keys<SandboxValues> & {
    readonly type: TypeOf<'sandbox'>
    readonly templates?: Readonly<Record<string, Keys<TemplateValues>>> | undefined
  }

export type ServerJson = StdioServerJson | HttpServerJson | SseServerJson | SandboxServerJson

type Servers = Readonly<Record<string, ServerJson>>

/** One group of servers, which clients see as one. */
export type SchemaJson = Keys<SchemaValues & SharedValues> & { readonly mcpServers: Servers }

/** The servers, in one of three shapes. */
type Shape = Readonly<
  | Record<'schemas', Readonly<Record<string, SchemaJson>>>
  | Record<'mcpServers', Servers>
  | Record<'servers', Servers>
>

/** The part of the servers that some clients see. */
type ProfileJson = Keys<Omit<ProfileValues, 'tools'>> & {
  readonly tools?:
    | (Keys<Omit<ProfileToolValues, 'set'>> & {
        readonly set?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined
      })
    | undefined
}

type PlainRootValues = RootValues &
  SharedValues &
  ValuesOf<typeof inputsFields> &
  ValuesOf<typeof limitsFields> &
  ValuesOf<typeof lockFields> &
  ValuesOf<typeof sharedSandboxFields>

/** A configuration file, in any of its shapes. */
export type ConfigurationJson = Shape &
  Keys<PlainRootValues> & {
    readonly $schema?: string | undefined
    readonly server?:
      | (Keys<Omit<FrontValues, 'ui'>> & {
          readonly cors?: Keys<ValuesOf<typeof corsFields>> | undefined
          readonly ui?: WithSize<UiValues, 'history'> | undefined
        })
      | undefined
    readonly profiles?: Readonly<Record<string, ProfileJson>> | undefined
    readonly cli?: { readonly stdio?: Keys<StdioValues> | undefined } | undefined
    /** A file, or `stderr`. */
    readonly audit?: string | WithSize<AuditValues, 'maxSize'> | undefined
    readonly logging?: WithSize<LoggingValues, 'maxSize'> | undefined
  }
