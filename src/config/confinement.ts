// Rules between confined servers and all others: no confined program may write what the proxy obeys or what
// another server runs.
//
// A server that breaks a rule is not started. If a confined program may write a folder of PATH, no other server
// searches it, because the program could put a command there.

import { delimiter, resolve } from 'node:path'
import { programFolder } from '../folder.js'
import { type Place, covers, placesOf, realPlace, shieldsOf } from '../runtime/places.js'
import type { ServerConfig, StdioServerConfig } from '../upstream/contracts/server-config.js'
import type { Environment, SchemaConfig } from './configuration.js'
import { obeyedPaths, ownPath } from './file.js'
import { isBareName } from './paths.js'

export interface ConfinementContext {
  readonly files: ReadonlySet<string>
  readonly env: Environment
  readonly home: string
  /** The working folder of the programs of `${cmd:…}`. */
  readonly folder: string
  readonly warn: (schema: string, server: ServerConfig, message: string) => void
}

/** Returns the schemas with the effects of confined servers on the others, and the PATH of the proxy if it must differ. */
export function withConfinement(
  schemas: ReadonlyMap<string, SchemaConfig>,
  { files, env, home, folder, warn }: ConfinementContext,
): { readonly schemas: ReadonlyMap<string, SchemaConfig>; readonly path?: string | undefined } {
  const confined = [...schemas.values()].flatMap(({ name, servers }) =>
    servers.flatMap((server) => confinedServer(server, name) ?? []),
  )
  if (confined.length === 0) return { schemas }
  const programs = confined.flatMap((each) => each.programs)
  const obeyed = [process.execPath, programFolder, ...obeyedPaths(home), ...files, ...programs]
  const places = [...obeyed, ownPath(home, 'sandboxed')].map((path) => placesOf(path))
  const commands = [...schemas.values()].flatMap(({ servers }) => servers.flatMap(commandPlaces))
  const refusals = new Map(confined.map((each) => [each.server, refusalOf(each, places, commands)]))
  for (const { server, schema } of confined) {
    const refusal = refusals.get(server)
    if (refusal !== undefined && !server.disabled) warn(schema, server, `is disabled: ${refusal}`)
  }
  const paths = new SafePaths(confined, env)
  const result = new Map(
    [...schemas].map(([name, schema]) => {
      const servers = schema.servers.map((server) => {
        const refusal = refusals.get(server)
        const refused =
          refusal === undefined ? server : { ...server, unavailable: server.unavailable ?? refusal }
        return refused.kind === 'stdio' ? amongOthers(refused, server, confined, paths) : refused
      })
      return [name, { ...schema, servers }]
    }),
  )
  const path = paths.without({ env: {}, cwd: folder }, undefined)
  for (const [{ schema, server }, folders] of paths.skipped)
    warn(
      schema,
      server,
      `may write ${[...folders].join(', ')} of PATH, where other servers and \${cmd:…} look for no program now`,
    )
  return { schemas: result, path }
}

/** The folders of one confined program, with links resolved. */
interface RealFolders {
  readonly writable: readonly { readonly folder: string; readonly real: string }[]
  readonly shields: readonly string[]
}

function realFolders(read: readonly string[], write: readonly string[]): RealFolders {
  const writable = write.map((folder) => ({ folder, real: realPlace(folder) }))
  const reals = writable.map(({ real }) => real)
  return { writable, shields: shieldsOf(read, reals) }
}

/** Returns the writable folder from which a program could replace the entry with these places, or undefined. */
function folderThatReplaces(
  places: readonly Place[],
  { writable, shields }: RealFolders,
): string | undefined {
  const end = places.at(-1)?.path
  const isShielded = (real: string, path: string): boolean =>
    shields.some((shield) => covers(real, shield) && covers(shield, path))
  // The entry of a writable folder lies in its parent, which is not writable.
  return writable.find(
    ({ real }) =>
      real === end ||
      places.some(({ path }) => path !== real && covers(real, path) && !isShielded(real, path)),
  )?.folder
}

/** A server that confines its programs, and the folders of the host that these programs may use. */
interface ConfinedServer {
  readonly schema: string
  readonly server: ServerConfig
  /** The folders that the configuration names, without the home of the server. */
  readonly named: RealFolders
  readonly open: RealFolders
  readonly programs: readonly string[]
}

function confinedServer(server: ServerConfig, schema: string): ConfinedServer | undefined {
  if (server.kind === 'stdio' && server.sandbox !== undefined) {
    const { read, write, home, programs } = server.sandbox
    const named = realFolders(read, write)
    const own = { folder: home, real: realPlace(home) }
    return { schema, server, named, open: { ...named, writable: [...named.writable, own] }, programs }
  }
  if (server.kind !== 'sandbox') return undefined
  const { volumes, programs } = server.sandbox
  const write = volumes.flatMap(({ hostPath, isReadOnly }) => (isReadOnly ? [] : [hostPath]))
  const named = realFolders([], write)
  return { schema, server, named, open: named, programs }
}

interface CommandPlaces {
  readonly server: ServerConfig
  readonly places: readonly Place[]
}

function commandPlaces(server: ServerConfig): readonly CommandPlaces[] {
  if (server.kind !== 'stdio' || server.disabled || isBareName(server.command)) return []
  return [{ server, places: placesOf(resolve(server.cwd, server.command)) }]
}

/** Why a server is not started: its writable folder, the file that it could replace, and the key to change. */
function refusalOf(
  { server, named }: ConfinedServer,
  obeyed: readonly (readonly Place[])[],
  commands: readonly CommandPlaces[],
): string | undefined {
  const others = commands.flatMap((each) => (each.server === server ? [] : [each.places]))
  for (const places of [...obeyed, ...others]) {
    const end = places.at(-1)?.path
    // A writable folder above the entry could replace it, and one below it could change its content.
    const below = named.writable.find(({ real }) => end !== undefined && covers(end, real))
    const folder = folderThatReplaces(places, named) ?? below?.folder
    if (folder === undefined) continue
    const change =
      server.kind === 'sandbox'
        ? `add :ro to ${folder} in "volumes", or name a folder without it`
        : `choose other folders in "write", or add to "read" a folder directly in ${folder} that holds it`
    return `what it runs may write ${folder}, and could replace ${end ?? ''}, which the proxy obeys; ${change}`
  }
  return undefined
}

/** Computes the PATH of each server, without folders in which the programs of other servers could put a command. */
class SafePaths {
  readonly skipped = new Map<ConfinedServer, Set<string>>()
  readonly #confined: readonly ConfinedServer[]
  readonly #env: Environment
  readonly #places = new Map<string, readonly Place[]>()

  constructor(confined: readonly ConfinedServer[], env: Environment) {
    this.#confined = confined
    this.#env = env
  }

  /** Returns undefined if no folder must be left out. */
  without(
    { env, cwd }: Pick<StdioServerConfig, 'env' | 'cwd'>,
    itself: ServerConfig | undefined,
  ): string | undefined {
    const folders = (env['PATH'] ?? this.#env['PATH'] ?? '').split(delimiter)
    const safe = folders.filter((folder) => {
      const path = resolve(cwd, folder)
      const places = this.#places.get(path) ?? placesOf(path)
      this.#places.set(path, places)
      const writers = this.#confined.filter(
        ({ server, open }) => server !== itself && folderThatReplaces(places, open) !== undefined,
      )
      for (const each of writers) this.skipped.set(each, (this.skipped.get(each) ?? new Set()).add(path))
      return writers.length === 0
    })
    return safe.length === folders.length ? undefined : safe.join(delimiter)
  }
}

/** Adds to a server its safe PATH, and the folders in which other servers can create links. */
function amongOthers(
  server: StdioServerConfig,
  itself: ServerConfig,
  confined: readonly ConfinedServer[],
  paths: SafePaths,
): StdioServerConfig {
  const path = paths.without(server, itself)
  const others = confined.filter((each) => each.server !== itself)
  const untrusted = [...new Set(others.flatMap(({ open }) => open.writable.map(({ real }) => real)))]
  return {
    ...server,
    ...(path !== undefined && { env: { ...server.env, PATH: path } }),
    ...(server.sandbox && { sandbox: { ...server.sandbox, untrusted } }),
  }
}
