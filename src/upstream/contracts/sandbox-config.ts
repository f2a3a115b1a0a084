// The settings of a sandbox, after reading, defaulting and expansion, and what the proxy and its program say to each other.

/** The variable in which the program gets its settings, as JSON. */
export const settingsVariable = 'MSB_SETTINGS'

/** The variable with the variables of a confined server, as JSON, which are not those of the program that confines it. */
export const confinedVariable = 'MCPS_CONFINED_ENV'

/** Earlier names of tools; clients may call them, and no list shows them. */
export const olderToolNames: ReadonlyMap<string, string> = new Map([
  ['get_volume_mappings', 'get_volume_path'],
])

/** In the `_meta` of a call: the principal whose sessions it may use. No client can send it. */
export const principalKey = 'mcps-proxy/principal'

/** In the `_meta` of the result of `initialize`: runtime, isolation, network and tools. */
export const aboutKey = 'mcps-proxy/sandbox'

const label = '[A-Za-z0-9_](?:[A-Za-z0-9_\\-]{0,61}[A-Za-z0-9_])?'
/** A name that begins with a digit is an address. */
const lastLabel = '[A-Za-z](?:[A-Za-z0-9\\-]{0,61}[A-Za-z0-9])?'
const port = '(?:[1-9]\\d{0,3}|[1-5]\\d{4}|6[0-4]\\d{3}|65[0-4]\\d{2}|655[0-2]\\d|6553[0-5])'

/** A host that code may reach by HTTPS: a name with a dot, `*.` in front of it for every name below, and a port behind it. */
export const allowedHostPattern: string = `^(?=[^:]{1,253}(?::|$))(?:\\*\\.)?(?:${label}\\.)+${lastLabel}(?::${port})?$`

/** The runtime of foreign code; `auto` takes the first of bubblewrap and container that can be used. */
export type SandboxRuntimeName = 'auto' | 'bubblewrap' | 'container' | 'microsandbox-server'

/** How much of the machine a session gets. */
export type SandboxFlavor = 'small' | 'medium' | 'large'

/** The limits of all processes of a session together; each runtime in `sandbox/runtimes` sets them on its machines. */
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

/** The language of a session, and its interpreter. */
export interface SandboxTemplate {
  readonly name: string
  readonly language: 'python' | 'node'
  /** A path on the host; undefined: the runtime finds one. */
  readonly interpreter: string | undefined
  /** The name of an image, for runtimes that have images. */
  readonly image: string | undefined
  readonly env: Readonly<Record<string, string>>
}

/** The network that programs of sessions reach: nothing, the hosts that are named, or all that the host can. */
export type SandboxNetwork =
  | { readonly kind: 'none' | 'host' }
  /** `example.com`, `*.example.com`, each with `:port` behind it where it is not 443. */
  | { readonly kind: 'allow'; readonly hosts: readonly string[] }

/** A folder of the host that sessions see. */
export interface SandboxVolume {
  /** Absolute. */
  readonly hostPath: string
  readonly guestPath: string
  readonly isReadOnly: boolean
}

export interface SandboxSettings {
  readonly runtime: SandboxRuntimeName
  /** Address of a microsandbox server. */
  readonly serverUrl: string | undefined
  /** The key that the server asks for; never to be logged. */
  readonly apiKey: string | undefined
  /** How long an unused session lives. */
  readonly sessionTimeoutMs: number
  readonly cleanupIntervalMs: number
  readonly orphanCleanupIntervalMs: number
  readonly maxSessions: number
  /** Whether the session that was not used for longest makes room for a new one. */
  readonly enableLruEviction: boolean
  /** Of all sessions together, by their flavors; undefined for no limit. */
  readonly maxTotalMemoryMb: number | undefined
  readonly defaultFlavor: SandboxFlavor
  readonly sandboxStartTimeoutMs: number
  readonly executionTimeoutMs: number
  /** The limits that a call may ask for. */
  readonly maxTimeoutMs: number
  readonly volumes: readonly SandboxVolume[]
  /** Folders of programs that the service adds, besides those of the system. Absolute. */
  readonly programs: readonly string[]
  /** Whom programs of sessions run as where the service is root: `user`, `user:group`, or numbers; undefined: a user for each session. */
  readonly runAs: string | undefined
  readonly network: SandboxNetwork
  /** The first one is the default. */
  readonly templates: readonly SandboxTemplate[]
  /** Whether clients can read and write files of their sessions. */
  readonly files: boolean
  /** Of one stream of one call; beyond it the middle is left out. */
  readonly outputMaxBytes: number
  /** Which clients see a session: all of them, or only the one that has opened it. */
  readonly sessions: 'shared' | 'client'
}
