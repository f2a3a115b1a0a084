// The settings of a sandbox, after reading, defaulting and expansion, and the protocol between proxy and
// program.

/** The environment variable that gives the program its settings, as JSON. */
export const settingsVariable = 'MSB_SETTINGS'

/** The variable that holds the environment of a confined server, as JSON, apart from that of the program. */
export const confinedVariable = 'MCPS_CONFINED_ENV'

/** Earlier names of tools. Clients may call them, but no list shows them. */
export const olderToolNames: ReadonlyMap<string, string> = new Map([
  ['get_volume_mappings', 'get_volume_path'],
])

/** In the `_meta` of a call: the principal whose sessions the call may use. No client can send it. */
export const principalKey = 'mcps-proxy/principal'

/** In the `_meta` of the result of `initialize`: runtime, isolation, network and tools. */
export const aboutKey = 'mcps-proxy/sandbox'

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_\\-]{0,61}[A-Za-z0-9_])?'
/** The last label begins with a letter, because an address begins with a digit. */
const lastLabel = '[A-Za-z](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?'
const port = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

/** A host that code may reach by HTTPS: a name with a dot, perhaps with `*.` in front and a port behind. */
export const allowedHostPattern: string = `^(?=[^:]{1,253}(?::|$))(?:\\*\\.)?(?:${label}\\.)+${lastLabel}(?::${port})?$`

/** The runtime of foreign code; `auto` is the first of bubblewrap and container that works. */
export type SandboxRuntimeName = 'auto' | 'bubblewrap' | 'container' | 'microsandbox-server'

/** How much of the machine a session gets. */
export type SandboxFlavor = 'small' | 'medium' | 'large'

/** The limits of all processes of a session together. Each runtime in `sandbox/runtimes` applies them. */
export interface FlavorLimits {
  readonly cpus: number
  readonly memoryMiB: number
  readonly pids: number
  readonly diskGiB: number
}

export const flavorNames: readonly SandboxFlavor[] = ['small', 'medium', 'large']

export const sandboxFlavors: Readonly<Record<SandboxFlavor, FlavorLimits>> = {
  small: { cpus: 1, memoryMiB: 1024, pids: 256, diskGiB: 1 },
  medium: { cpus: 2, memoryMiB: 2048, pids: 512, diskGiB: 2 },
  large: { cpus: 4, memoryMiB: 4096, pids: 1024, diskGiB: 4 },
}

export interface SandboxTemplate {
  readonly name: string
  readonly language: 'python' | 'node'
  /** A path on the host. If it is undefined, the runtime finds one. */
  readonly interpreter: string | undefined
  /** The name of an image, for runtimes that have images. */
  readonly image: string | undefined
  readonly env: Readonly<Record<string, string>>
}

/** The network that programs of sessions reach: nothing, the named hosts, or the network of the host. */
export type SandboxNetwork =
  | { readonly kind: 'none' | 'host' }
  /** Hosts as `example.com` or `*.example.com`, with `:port` unless the port is 443. */
  | { readonly kind: 'allow'; readonly hosts: readonly string[] }

export interface SandboxVolume {
  /** Absolute. */
  readonly hostPath: string
  readonly guestPath: string
  readonly isReadOnly: boolean
}

export interface SandboxSettings {
  readonly runtime: SandboxRuntimeName
  readonly serverUrl: string | undefined
  /** The key for that server. It must never be logged. */
  readonly apiKey: string | undefined
  /** How long an unused session lives. */
  readonly sessionTimeoutMs: number
  readonly cleanupIntervalMs: number
  readonly orphanCleanupIntervalMs: number
  readonly maxSessions: number
  /** Whether a new session replaces the least recently used one when there are too many. */
  readonly enableLruEviction: boolean
  /** The memory of all sessions together, by their flavors; undefined for no limit. */
  readonly maxTotalMemoryMb: number | undefined
  readonly defaultFlavor: SandboxFlavor
  readonly sandboxStartTimeoutMs: number
  readonly executionTimeoutMs: number
  /** The longest time limit that a call may ask for. */
  readonly maxTimeoutMs: number
  readonly volumes: readonly SandboxVolume[]
  /** Absolute paths of program folders, in addition to those of the system. */
  readonly programs: readonly string[]
  /** The user of programs if the service is root, also `user:group` or numbers; else one for each session. */
  readonly runAs: string | undefined
  readonly network: SandboxNetwork
  /** The first one is the default. */
  readonly templates: readonly SandboxTemplate[]
  /** Whether clients can read and write files of their sessions. */
  readonly files: boolean
  /** The output limit of one stream of one call. The middle of longer output is cut. */
  readonly outputMaxBytes: number
  /** Whether all clients see a session, or only the client that has opened it. */
  readonly sessions: 'shared' | 'client'
}
