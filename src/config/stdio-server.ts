import { createHash } from 'node:crypto'
import { isAbsolute, join } from 'node:path'
import process from 'node:process'
import { readTextFile } from '../runtime/read-file.js'
import { realPlace } from '../runtime/places.js'
import type { ProcessSandbox, ServerCommon, StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Expansion } from './expand.js'
import { ownPath } from './file.js'
import { absoluteFile, fromHome } from './paths.js'
import { secretsOfEnv } from './secrets.js'
import { stdioFields } from './server-keys.js'
import { type Location, readValues } from './values.js'

interface ServerOrigin {
  readonly source: string
  readonly schema: string
  /** Folders with programs for sandboxes, for servers that name none. */
  readonly programs: readonly string[]
}

const { envFile: envFileField, ...otherFields } = stdioFields

export function readStdio(
  at: Location,
  common: ServerCommon,
  expansion: Expansion,
  origin: ServerOrigin,
): StdioServerConfig {
  // Reads `envFile` first, because variables of other keys must not count as missing in its path.
  const { envFile } = readValues({ envFile: envFileField }, at)
  const file = readEnvFile(envFile, at.at('envFile'), expansion)
  const { env: own, memoryLimitMB, idleTimeoutMs, ...values } = readValues(otherFields, at)
  warnOfCommandLine(at.at('command'))
  const env = new Map([...file.values, ...own])
  const sandbox = values.sandbox && processSandbox(common.name, values.sandbox, at.at('sandbox'), origin)
  for (const each of secretsOfEnv(file.values)) at.reading.onSecret?.(each)
  return {
    kind: 'stdio',
    ...common,
    ...values,
    unavailable: file.trouble ?? whyUnconfined(sandbox),
    command: fromHome(values.command, at.reading.home),
    env: Object.fromEntries(env),
    idleTimeoutMs: idleTimeoutMs === 0 ? undefined : idleTimeoutMs,
    memoryLimitBytes: memoryLimitMB === undefined ? undefined : memoryLimitMB * 1024 ** 2,
    sandbox,
  }
}

/** A name with arguments behind it. A path may contain spaces. */
const commandLine = /^[^\s/\\]+\s+\S/

function warnOfCommandLine(at: Location): void {
  if (typeof at.value !== 'string' || !commandLine.test(at.value)) return
  const [program = '', ...args] = at.value.trim().split(/\s+/)
  // The value of an option may be a secret.
  const isPlain = args.every((arg) => /^(?!--)[@\w./-]{1,60}$/.test(arg))
  const shown = isPlain ? args.map((arg) => `"${arg}"`).join(', ') : '…'
  at.warn(
    `is looked for as one program with spaces in its name; write "command": "${program}", "args": [${shown}]`,
  )
}

/** A file of variables has some lines. A log or an image that is named by mistake is larger. */
const bytesMax = 256 * 1024

interface EnvFile {
  readonly values: ReadonlyMap<string, string>
  readonly trouble?: string
}

/** Reads `envFile` as VS Code and Cursor do. A warning repeats nothing of the file, because all of it may be secret. */
function readEnvFile(written: string | undefined, at: Location, { missing, isPartial }: Expansion): EnvFile {
  const values = new Map<string, string>()
  if (!written || missing !== undefined || isPartial) return { values }
  const path = absoluteFile(written, at.reading)
  const file = readTextFile(path, bytesMax)
  if (file.kind !== 'read') return { values, trouble: `envFile ${path}: ${file.why}` }
  // An import of the module would make Node.js load all that it exports, at every start.
  const { parseEnv } = process.getBuiltinModule('node:util')
  for (const [name, value = ''] of Object.entries(parseEnv(file.text))) {
    if (/^[A-Za-z_][\w.-]*$/.test(name) && !value.includes('\0')) values.set(name, value)
    else at.warn('has a line with "=" that is not like NAME=value and is ignored')
  }
  if (values.size === 0 && /^\s*[^#\s]/m.test(file.text)) at.warn('has no line like NAME=value')
  return { values }
}

function processSandbox(
  name: string,
  { network, filesystem, programs }: NonNullable<ReturnType<typeof stdioFields.sandbox.type.read>>,
  at: Location,
  origin: ServerOrigin,
): ProcessSandbox {
  if (network === 'host')
    at.warn('has the network "host": the program reaches whatever this machine can reach')
  return {
    home: join(ownPath(at.reading.home, 'sandboxed'), folderOf(name, origin, at.reading.folder)),
    network: network.length === 0 ? 'none' : network,
    ...filesystem,
    programs: programs ?? origin.programs,
    untrusted: [],
  }
}

/** The home of this server of this file and schema. A name may contain characters that a path must not. */
function folderOf(name: string, { source, schema }: ServerOrigin, folder: string): string {
  const file = isAbsolute(source) ? realPlace(source) : `${folder}/`
  const digest = createHash('sha256').update(`${file}\0${schema}\0${name}`).digest('hex').slice(0, 12)
  return `${encodeURIComponent(name).replaceAll('.', '%2E')}-${digest}`
}

/** Only Linux has the sandbox of bubblewrap. */
function whyUnconfined(sandbox: ProcessSandbox | undefined): string | undefined {
  return sandbox === undefined || process.platform === 'linux'
    ? undefined
    : `its "sandbox" needs Linux with bubblewrap, and this is ${process.platform}; remove it to run the program without a sandbox`
}
