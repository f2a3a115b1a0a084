// `sandbox` of a server that is started as a program: what the program may read, write and reach.

import { createHash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import { realPlace } from '../runtime/places.js'
import type { ProcessSandbox } from '../upstream/contracts/server-config.js'
import type { Expansion } from './expand.js'
import { sandboxedFolder } from './file.js'
import { type Kind, list, text } from './kinds.js'
import { type PathBase, absolute } from './paths.js'
import { whatItIs } from './problems.js'
import { hosts } from './sandbox-fields.js'
import { type ValuesOf, type Section, object, optional } from './section.js'

type NetworkValue = ProcessSandbox['network']

const paths = list(text({ wanted: 'a path' }))

const filesystemFields = {
  read: optional(paths, 'Files and folders that the program may read. ${VAR} and ~ are expanded.'),
  write: optional(paths, 'Folders that it may read and write. ${VAR} and ~ are expanded.'),
}

const words = ['none', 'host'] as const
const networkWanted = 'one of "none", "host", or a list of hosts like ["api.example.com"]'

const networkKind: Kind<NetworkValue> = {
  wanted: networkWanted,
  schema: { anyOf: [{ enum: words }, hosts.schema] },
  read: (value, spot) => {
    const word = words.find((each) => each === value)
    if (word !== undefined) return word
    if (Array.isArray(value)) return hosts.read(value, spot)
    spot.findings.problem(spot.path, whatItIs(value), `must be ${networkWanted}`)
    return undefined
  },
}

const filesystemKind = object(filesystemFields, 'an object like { "read": ["/srv"], "write": [] }', {
  isClosed: true,
})

const sandboxFields = {
  network: optional(
    networkKind,
    'The hosts that the program reaches by HTTPS, "none" (the default) or "host".',
  ),
  filesystem: optional(filesystemKind, 'The files that it reads and writes besides those of the system.'),
  programs: optional(
    paths,
    'Folders in which bwrap and other programs for sandboxes are looked for, before /usr/bin, /usr/local/bin and /bin.',
  ),
}

type ProcessSandboxValue = ValuesOf<typeof sandboxFields>

/** The key beside the servers, for all of them. */
export const sharedSandboxFields = {
  sandbox: optional(
    object({ programs: sandboxFields.programs }, undefined, { isClosed: true }),
    'What all sandboxes have in common.',
  ),
}

export const processSandboxKind: Kind<ProcessSandboxValue> = object(
  sandboxFields,
  'an object like { "network": ["api.example.com"], "filesystem": { "read": ["/srv"], "write": [] } }',
  { isClosed: true },
  new Map(Object.keys(filesystemFields).map((key) => [key, `write "filesystem": { "${key}": […] }`])),
)

/** The file and the schema of a server. */
export interface ServerOrigin extends PathBase {
  /** The file, or what stands in its place. */
  readonly source: string
  readonly schema: string
  /** Folders for programs of sandboxes, for servers that name none. */
  readonly programs: readonly string[] | undefined
}

/** The home of a server of this file and schema alone; the name may have characters that a path has not. */
function folderOf(name: string, { source, folder, schema }: ServerOrigin): string {
  const file = isAbsolute(source) ? realPlace(source) : `${folder}/`
  const digest = createHash('sha256').update(`${file}\0${schema}\0${name}`).digest('hex').slice(0, 12)
  return `${encodeURIComponent(name).replaceAll('.', '%2E')}-${digest}`
}

/** The sandbox of a server; undefined for one that runs without. */
export function processSandbox(
  name: string,
  section: Section,
  sandbox: ProcessSandboxValue | undefined,
  expansion: Expansion,
  origin: ServerOrigin,
): ProcessSandbox | undefined {
  if (sandbox === undefined) return undefined
  const { network = [], filesystem, programs = origin.programs } = sandbox
  if (network === 'host')
    section.warn('sandbox', 'has the network "host": the program reaches whatever this machine can reach')
  const whole = (paths: readonly string[] = []): string[] =>
    paths.map((path) => absolute(expansion.text(path), origin))
  return {
    home: join(sandboxedFolder(origin.home), folderOf(name, origin)),
    network: network.length === 0 ? 'none' : network,
    read: whole(filesystem?.read),
    write: whole(filesystem?.write),
    programs: whole(programs),
    untrusted: [],
  }
}
