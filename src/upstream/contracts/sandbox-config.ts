// The settings of a sandbox, after reading, defaulting and expansion.

/** What may be named to run foreign code with; `auto` takes the first that isolates and can be used. */
export type SandboxRuntimeName =
  'auto' | 'microsandbox-server' | 'microsandbox' | 'bubblewrap' | 'container' | 'wasm' | 'unsafe-local'

/** How much of the machine a session gets. */
export type SandboxFlavor = 'small' | 'medium' | 'large'

/** What a session begins with. */
export interface SandboxTemplate {
  readonly name: string
  readonly language: 'python' | 'node'
  /** A path on the host; undefined: the runtime finds one. */
  readonly interpreter: string | undefined
  /** The name of an image, for runtimes that have images. */
  readonly image: string | undefined
  readonly env: Readonly<Record<string, string>>
}

/** What programs of sessions reach: nothing, the hosts that are named, or all that the host can. */
export type SandboxNetwork =
  | { readonly kind: 'none' | 'host' }
  /** `example.com`, `*.example.com`, each with `:port` behind it where it is not 443 and 80. */
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
  /** What that server asks for; never to be logged. */
  readonly apiKey: string | undefined
  /** How long a session lives that nobody uses. */
  readonly sessionTimeoutMs: number
  readonly cleanupIntervalMs: number
  readonly orphanCleanupIntervalMs: number
  readonly sessionsMax: number
  /** Whether the session that was not used for longest makes room for a new one. */
  readonly evictsIdle: boolean
  /** Of all sessions together, by their flavors; undefined for no limit. */
  readonly memoryMiBMax: number | undefined
  readonly defaultFlavor: SandboxFlavor
  /** Machines of the first template and the default flavor that are started before a session needs them; they count as sessions. */
  readonly spareCount: number
  readonly machineStartTimeoutMs: number
  readonly executionTimeoutMs: number
  /** What a call may ask for. */
  readonly executionTimeoutMsMax: number
  readonly volumes: readonly SandboxVolume[]
  /** Whom programs of sessions run as where the service is root: `user`, `user:group`, or numbers; undefined: a user for each session. */
  readonly runAs: string | undefined
  readonly network: SandboxNetwork
  /** The first one is the default. */
  readonly templates: readonly SandboxTemplate[]
  /** Whether clients can read and write files of their sessions. */
  readonly files: boolean
  /** Whether clients can keep sessions under names of their own. */
  readonly pins: boolean
  /** Of one stream of one call; beyond it the middle is left out. */
  readonly outputBytesMax: number
  /** Who sees a session: everybody, or only the client that has opened it. */
  readonly sessions: 'shared' | 'client'
}
