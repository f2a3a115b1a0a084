// A configuration as a file has it, for those who write one in their own program.
//
// The types are made from the tables of fields that the validator reads with, so that the two cannot part. A key that is
// undefined counts as absent.

import type { HttpTls, ToolFilter } from '../upstream/contracts/server-config.js'
import type { NamePatterns } from '../upstream/contracts/view-rules.js'
import type { AuditValues } from './audit.js'
import type { CorsConfig } from './configuration.js'
import type {
  FrontValues,
  MetricsValues,
  LoggingValues,
  RootValues,
  SchemaValues,
  StdioValues,
  TokenValues,
  UiValues,
} from './fields.js'
import type {
  FrontAuthRuleValues,
  FrontAuthValues,
  FrontIssuerValues,
  FrontLoginValues,
  IntrospectionValues,
} from './front-auth.js'
import type {
  AuthValues,
  HttpServerValues,
  OtherLoginValues,
  ServerValues,
  SharedValues,
  SseServerValues,
  kindByType,
} from './server-fields.js'
import type { FilesystemValue, ProcessSandboxValue } from './process-sandbox.js'
import type { LimitValues } from './policy.js'
import type { ProfileToolValues, ProfileValues } from './profiles.js'
import type { LockValues, ServerLockValues } from './lock.js'
import type { InputConfig } from './references.js'
import type { SandboxValues, TemplateValues } from './sandbox-fields.js'
import type { StdioServerValues } from './stdio-server.js'

/** A value as JSON has it: a map is an object there. */
type Written<T> = T extends ReadonlyMap<string, infer V> ? Readonly<Record<string, V>> : T

/** The keys of a section, none of them required. */
type Keys<Values> = { readonly [K in keyof Values]?: Written<Values[K]> | undefined } & {
  readonly $comment?: unknown
}

/** The same, with these required. */
type KeysWith<Values, Required extends keyof Values> = Keys<Omit<Values, Required>> & {
  readonly [K in Required]: Written<Exclude<Values[K], undefined>>
}

/** How files write the type of a server of this kind. */
type TypeOf<Kind> = {
  [T in keyof typeof kindByType]: (typeof kindByType)[T] extends Kind ? T : never
}[keyof typeof kindByType]

type AnyServerKeys = Keys<ServerValues> &
  Keys<SharedValues> & {
    readonly lock?: boolean | Keys<ServerLockValues> | undefined
    readonly tools?: Keys<ToolFilter> | undefined
  }

/** The address stands under one of three names. */
type Address = Readonly<Record<'url', string> | Record<'serverUrl', string> | Record<'httpUrl', string>>

type RemoteKeys = Address &
  Keys<Omit<HttpServerValues, 'url' | 'serverUrl' | 'httpUrl' | 'auth' | 'oauth' | 'tls'>> & {
    readonly auth?: KeysWith<AuthValues, 'type'> | undefined
    readonly oauth?: Keys<OtherLoginValues> | undefined
    readonly tls?: Keys<HttpTls> | undefined
  }

/** A program that is started and spoken to on its stdin and stdout. */
export type StdioServerJson = AnyServerKeys &
  KeysWith<Omit<StdioServerValues, 'sandbox'>, 'command'> & {
    readonly type?: TypeOf<'stdio'> | undefined
    readonly sandbox?: ProcessSandboxJson | undefined
  }

/** The paths and hosts that a started program may use. */
export interface ProcessSandboxJson {
  readonly network?: ProcessSandboxValue['network']
  readonly filesystem?: Keys<FilesystemValue> | undefined
  readonly programs?: ProcessSandboxValue['programs']
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
export type SchemaJson = Keys<SchemaValues> & Keys<SharedValues> & { readonly mcpServers: Servers }

/** The servers, in one of three shapes. */
type Shape = Readonly<
  | Record<'schemas', Readonly<Record<string, SchemaJson>>>
  | Record<'mcpServers', Servers>
  | Record<'servers', Servers>
>

/** The part of the servers that some clients see. */
type ProfileJson = Keys<Omit<ProfileValues, 'tools' | 'prompts' | 'resources'>> & {
  readonly tools?:
    | (Keys<Omit<ProfileToolValues, 'set'>> & {
        readonly set?: Readonly<Record<string, Readonly<Record<string, unknown>>>> | undefined
      })
    | undefined
  readonly prompts?: Keys<NamePatterns> | undefined
  readonly resources?: Keys<NamePatterns> | undefined
}

/** Access tokens that the HTTP front accepts. */
type FrontAuthJson = Pick<Keys<FrontAuthValues>, 'scopes'> & {
  readonly issuers: readonly (KeysWith<Omit<FrontIssuerValues, 'introspection'>, 'issuer'> & {
    readonly introspection?: KeysWith<IntrospectionValues, 'url' | 'clientId' | 'clientSecret'> | undefined
  })[]
  readonly rules?: readonly Keys<FrontAuthRuleValues>[] | undefined
  readonly login?: KeysWith<FrontLoginValues, 'clientId' | 'clientSecret'> | undefined
}

/** A configuration file, in any of its shapes. */
export type ConfigurationJson = Shape &
  Keys<RootValues> &
  Keys<SharedValues> & {
    readonly $schema?: string | undefined
    readonly sandbox?: Pick<ProcessSandboxJson, 'programs'> | undefined
    readonly server?:
      | (Keys<Omit<FrontValues, 'metrics' | 'ui' | 'tokens' | 'auth'>> & {
          readonly metrics?: Keys<MetricsValues> | undefined
          readonly cors?: Keys<Omit<CorsConfig, 'localPages'>> | undefined
          /** A size may be text such as `16MB` too. */
          readonly ui?:
            (Keys<Omit<UiValues, 'history'>> & { readonly history?: number | string | undefined }) | undefined
          readonly tokens?: readonly KeysWith<TokenValues, 'name' | 'sha256'>[] | undefined
          readonly auth?: FrontAuthJson | undefined
        })
      | undefined
    readonly profiles?: Readonly<Record<string, ProfileJson>> | undefined
    readonly limits?: readonly KeysWith<LimitValues, 'perMinute'>[] | undefined
    readonly lock?: boolean | Keys<LockValues> | undefined
    readonly inputs?: readonly KeysWith<InputConfig, 'id' | 'type'>[] | undefined
    readonly cli?: { readonly stdio?: Keys<StdioValues> | undefined } | undefined
    /** A file, or `stderr`. */
    readonly audit?:
      | string
      | (KeysWith<Omit<AuditValues, 'maxSize'>, 'file'> & { readonly maxSize?: number | string | undefined })
      | undefined
    /** A size may be text such as `10MB` too. */
    readonly logging?:
      (Keys<Omit<LoggingValues, 'maxSize'>> & { readonly maxSize?: number | string | undefined }) | undefined
  }
