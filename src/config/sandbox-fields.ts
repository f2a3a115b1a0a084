// Every key of a sandbox: its kind, its default, its purpose, and the variable that replaces a missing key; and the network of
// a sandbox, which is a word or a list of hosts.

import { type SandboxNetwork, allowedHostPattern } from '../upstream/contracts/sandbox-config.js'
import { type Kind, boolean, choice, integer, list, map, size, text, variableNames } from './kinds.js'
import { whatItIs } from './problems.js'
import { type ValuesOf, type Rules, Section, field, optional } from './section.js'
import { isObject } from '../text/json-object.js'

/** A day, in seconds. */
const day = 86_400

/** As it stands in a file. */
export type NetworkValue = 'none' | 'host' | AllowedNetwork

interface AllowedNetwork {
  readonly allow: readonly string[]
}

export const hosts: Kind<readonly string[]> = list(
  text({
    pattern: allowedHostPattern,
    wanted:
      'a name with a dot, such as "example.com", "*.example.org" or "api.example.com:8443"; letters beyond ASCII as xn--',
  }),
)

const allowFields = {
  allow: field(
    hosts,
    [],
    'Hosts that code reaches over https://; "*." stands for every name below. Without a port: 443.',
  ),
}

const words = ['none', 'host'] as const
const wanted = 'one of "none", "host", or an object like { "allow": ["example.com"] }'

const networkKind: Kind<NetworkValue> = {
  wanted,
  schema: {
    anyOf: [
      { enum: words },
      {
        type: 'object',
        properties: {
          allow: { description: allowFields.allow.about, ...allowFields.allow.kind.schema, minItems: 1 },
        },
        required: ['allow'],
      },
    ],
  },
  read: (value, spot) => {
    const word = words.find((each) => each === value)
    if (word !== undefined) return word
    if (!isObject(value)) spot.findings.problem(spot.path, whatItIs(value), `must be ${wanted}`)
    if (!isObject(value)) return undefined
    const section = Section.of(value, spot.path, spot.findings)
    if (section === undefined) return undefined
    const { allow } = section.readOnly(allowFields)
    if (!section.has('allow')) section.problem('allow', 'is missing', 'must be a list of hosts')
    else if (Array.isArray(section.raw('allow')) && allow.length === 0)
      section.problem('allow', 'names no host', 'name one, or set network to "none"')
    return { allow }
  },
}

/** `host:guest`, with `:ro` behind it where sessions may only read. */
const volumePattern = '^[^:\\u0000]+:/[^:\\u0000]*(:r[ow])?$'

export const sandboxFields = {
  runtime: field(
    choice('auto', 'bubblewrap', 'container', 'microsandbox-server'),
    'auto',
    'What runs the code; auto takes bubblewrap, else container, whichever can be used here.',
  ),
  serverUrl: optional(
    text({
      pattern: '^([Hh][Tt][Tt][Pp][Ss]?://[^\\u0000-\\u0020]+|[^\\u0000]*\\$\\{[^\\u0000]*)$',
      secret: true,
      wanted: 'an http:// or https:// address',
    }),
    'Address of a microsandbox server, for the runtime of that name. ${VAR} is expanded.',
  ),
  apiKey: optional(text({ secret: true }), 'Key for the microsandbox server. ${VAR} is expanded.'),
  sessionTimeout: field(integer(1, 30 * day), 1800, 'Seconds after which a session ends that nobody uses.'),
  cleanupInterval: optional(
    integer(1, day),
    'Seconds between two looks for such sessions. Absent: 60, or sessionTimeout where that is shorter.',
  ),
  orphanCleanupInterval: field(
    integer(1, day),
    600,
    'Seconds between two looks for what services left behind that were killed.',
  ),
  maxSessions: field(integer(1, 10_000), 10, 'Most sessions at once.'),
  enableLruEviction: field(
    boolean(),
    true,
    'Whether the idle session that was not used for longest makes room for a new one.',
  ),
  maxTotalMemoryMb: optional(
    integer(1, 16_777_216),
    'Most memory of all sessions together, by their flavors, in MiB. Absent: no limit.',
  ),
  defaultFlavor: field(
    choice('small', 'medium', 'large'),
    'small',
    'What a session gets that names no flavor: small is 1 CPU and 1024 MiB, medium twice, large four times that.',
  ),
  sandboxStartTimeout: field(integer(1, 3600), 180, 'Longest time for the start of a session, in seconds.'),
  executionTimeout: field(integer(1, day), 300, 'Longest time for a call that names none, in seconds.'),
  maxTimeout: optional(
    integer(1, day),
    'Longest time that a call may name, in seconds. Absent: 300, or executionTimeout where that is longer.',
  ),
  volumes: field(
    list(text({ pattern: volumePattern, wanted: 'like "/srv/data:/data" or "/srv/data:/data:ro"' })),
    [],
    'Folders of this machine that sessions see, each as host:guest or host:guest:ro.',
  ),
  runAs: optional(
    text({
      pattern: '^[^:\\s\\u0000]+(:[^:\\s\\u0000]+)?$',
      wanted: 'like "ann", "ann:staff" or "1000:1000"',
    }),
    'User, or user:group, as whom code runs where the proxy runs as root, so that it can write to volumes. Absent: a user for each session.',
  ),
  network: field(
    networkKind,
    'none',
    'What code may reach: nothing, the hosts that are named, or all that this machine can.',
  ),
  files: field(boolean(), true, 'Whether clients can read and write files of their sessions.'),
  outputMax: field(
    size(1024, 16 * 1024 ** 2),
    64 * 1024,
    'Most bytes of one stream of a call that its result shows; the middle of a longer one is left out.',
  ),
  sessions: optional(
    choice('shared', 'client'),
    'Who sees a session: every client, or the one that has opened it. Absent: client where the front has a token, else shared.',
  ),
}

export type SandboxValues = ValuesOf<typeof sandboxFields>

/** The variable for each key that has one. */
export const sandboxVariables: ReadonlyMap<keyof SandboxValues, string> = new Map([
  ['runtime', 'MSB_RUNTIME'],
  ['serverUrl', 'MSB_SERVER_URL'],
  ['apiKey', 'MSB_API_KEY'],
  ['sessionTimeout', 'MSB_SESSION_TIMEOUT'],
  ['cleanupInterval', 'MSB_CLEANUP_INTERVAL'],
  ['orphanCleanupInterval', 'MSB_ORPHAN_CLEANUP_INTERVAL'],
  ['maxSessions', 'MSB_MAX_SESSIONS'],
  ['enableLruEviction', 'MSB_ENABLE_LRU_EVICTION'],
  ['maxTotalMemoryMb', 'MSB_MAX_TOTAL_MEMORY_MB'],
  ['defaultFlavor', 'MSB_DEFAULT_FLAVOR'],
  ['sandboxStartTimeout', 'MSB_SANDBOX_START_TIMEOUT'],
  ['executionTimeout', 'MSB_EXECUTION_TIMEOUT'],
  ['volumes', 'MSB_SHARED_VOLUME_PATH'],
] as const)

/** Of templates that do not always exist. */
export const templateRules: Rules = { required: ['language'] }

export const templateFields = {
  language: optional(choice('python', 'node'), 'The language of its code.'),
  interpreter: optional(text(), 'The interpreter, a path on this machine. Absent: it is looked for.'),
  image: optional(text(), 'The image, for runtimes that have images.'),
  env: field(
    map(variableNames, text({ mayBeEmpty: true, secret: true, wanted: 'a string without NUL characters' })),
    new Map(),
    'Environment variables for all programs of a session. ${VAR} is expanded.',
  ),
}

export type TemplateValues = ValuesOf<typeof templateFields>

/** The templates that always exist; a configured one of the same name replaces it. Others name their language. */
export const ownTemplates = ['python', 'node'] as const

/** The configuration of a microsandbox server decides about its network, so this file cannot promise it. */
export function sandboxNetwork(
  section: Section,
  { network, runtime, volumes }: Pick<SandboxValues, 'network' | 'runtime' | 'volumes'>,
): SandboxNetwork {
  if (runtime === 'microsandbox-server') {
    if (section.has('network') && network === 'none')
      section.problem(
        'network',
        'is "none"',
        'is not held by a microsandbox server: its own configuration decides; take the key out, or use another runtime',
      )
    if (volumes.length > 0)
      section.warn('volumes', 'are handed to the microsandbox server unchecked: it opens them by itself')
  }
  if (network === 'host')
    section.warn('network', 'is "host": code of a session reaches whatever this machine can reach')
  return typeof network === 'string' ? { kind: network } : { kind: 'allow', hosts: network.allow }
}
