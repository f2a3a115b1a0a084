// The properties of a method: who sends it, and where it is sent.

/** The lists that the proxy puts together out of its upstreams' own. */
export type ListKind = 'tools' | 'prompts' | 'resources' | 'templates'

/** Where a client's request goes. */
export type RequestRoute =
  /** Answered by the proxy. */
  | { readonly to: 'proxy' }
  /** Put together from every upstream. */
  | { readonly to: 'merge'; readonly list: ListKind }
  /** To the upstream that listed `params.name`. */
  | { readonly to: 'name'; readonly list: 'tools' | 'prompts' }
  /** To the upstream whose resource or template `params.uri` is. */
  | { readonly to: 'uri' }
  /** To the upstream that listed what `params.ref` names. */
  | { readonly to: 'reference' }
  /** To the upstream that holds the task `params.taskId`. */
  | { readonly to: 'task' }
  /** Put together from every upstream that holds tasks of the client. */
  | { readonly to: 'tasks' }

/** A request that clients send. */
export interface RequestRow extends NamedRow {
  readonly route: RequestRoute
  /** Whether a server may ask the client something while it handles this. */
  readonly askable: boolean
  /** Whether it only reads, so that a server that ended before its answer may be asked again. */
  readonly reads?: boolean
  /** Whether it stays open until the client or the proxy ends it. */
  readonly stays?: boolean
  /** Whether the client begins or ends to hear of changes of `params.uri`. */
  readonly subscribes?: boolean
}

/** How a notification of a client is handled. */
export interface ClientNotificationRow extends NamedRow {
  readonly does: 'initialized' | 'cancel' | 'progress' | 'news' | 'exit'
}

/** A request that servers send. */
export interface ServerRequestRow extends NamedRow {
  /** Answered by the proxy, or asked of the client that declared the capability. */
  readonly capability: 'roots' | 'sampling' | 'elicitation' | undefined
}

/** How a notification of a server is handled. */
export interface ServerNotificationRow extends NamedRow {
  readonly does: 'cancel' | 'progress' | 'log' | 'list-changed' | 'updated' | 'owner' | 'task'
  readonly lists: readonly ListKind[]
}

/** A method's row says where it goes; what else it says is its protocol's business. */
export interface NamedRow {
  readonly method: string
}

/** Rows by method. */
export type MethodTable<R extends NamedRow> = ReadonlyMap<string, R>

/** @throws TypeError where a method stands twice */
export function methodTable<R extends NamedRow>(families: readonly (readonly R[])[]): MethodTable<R> {
  const rows = new Map<string, R>()
  for (const row of families.flat()) {
    if (rows.has(row.method)) throw new TypeError(`method '${row.method}' has two rows`)
    rows.set(row.method, row)
  }
  return rows
}
