// What lets a server behind walls do what it was refused.

import { existsSync } from 'node:fs'
import { dirname, join, relative, sep } from 'node:path'
import { covers } from '../sandbox/host-program.js'
import type { ProcessSandbox, StdioServerConfig } from '../upstream/contracts/server-config.js'

/** A program behind walls names a missing path in the words of its system or of its language. */
const missedPath =
  /(?:ENOENT|EACCES|EROFS|Cannot find module|Cannot find package '[^']*'|No such file or directory|Permission denied|Read-only file system|can't open file)\D*?['"\s(](\/[^\s'",:)]+)/

interface MissedPath {
  readonly path: string
  /** Whether Node looked for code there. */
  readonly isImport: boolean
}

/** One sentence for the hosts and one for the first path that `words`, the last lines of the server, and `warnings` name. */
export function sandboxMends(
  { cwd }: Pick<StdioServerConfig, 'cwd'>,
  sandbox: ProcessSandbox,
  words: readonly string[],
  warnings: readonly string[],
): string[] {
  const hosts = warnings.flatMap(
    (warning) => / connection: (\S+?)(?::443)? is not an allowed host/.exec(warning)?.[1] ?? [],
  )
  const [found] = words.flatMap((line) => {
    const [sentence = '', path] = missedPath.exec(line) ?? []
    return path === undefined ? [] : [{ path, isImport: sentence.startsWith('Cannot find') }]
  })
  return [
    ...(hosts.length === 0
      ? []
      : [
          `to let it reach these hosts, add them to "network" of its "sandbox": ${[...new Set(hosts)].join(', ')}`,
        ]),
    ...(found === undefined ? [] : [relativeMend(found.path, cwd, sandbox) ?? pathMend(found, sandbox)]),
  ]
}

/** For a path of `args` that begins in the home folder, because the working folder cannot be read. */
function relativeMend(path: string, cwd: string, { home, read, write }: ProcessSandbox): string | undefined {
  const isReachable = [home, ...read, ...write].some((folder) => covers(folder, cwd))
  const meant = join(cwd, relative(home, path))
  if (isReachable || !covers(home, path) || !existsSync(meant)) return undefined
  // Such a folder has the homes of other servers too.
  const other = covers(cwd, home) ? '' : ', or add the working folder to "read"'
  return `the working folder ${cwd} cannot be read in the sandbox, so relative paths begin in its home folder: write ${meant}, also in "read" of its "filesystem"${other}`
}

function pathMend({ path, isImport }: MissedPath, { home }: ProcessSandbox): string {
  const packages = isImport ? packagesOf(path) : undefined
  return packages === undefined || covers(packages, home)
    ? `to let it use ${path}, add the path to "read" or "write" in "filesystem" of its "sandbox"`
    : `to let it use ${path} and the packages that it imports, add ${packages} to "read" in "filesystem" of its "sandbox"`
}

/** The outermost `node_modules` above a file, else the folder of its package where that has the packages that it imports. */
function packagesOf(path: string): string | undefined {
  const parts = path.split(sep)
  const at = parts.indexOf('node_modules')
  if (at >= 0) return parts.slice(0, at + 1).join(sep)
  const folder = dirname(path)
  if (folder === path) return undefined
  return ['package.json', 'node_modules'].every((name) => existsSync(join(folder, name)))
    ? folder
    : packagesOf(folder)
}

/** A path of the sandbox that is not there, with which the program cannot be started; undefined without one. */
export function sandboxTrouble(sandbox: ProcessSandbox | undefined): string | undefined {
  if (sandbox === undefined) return undefined
  const paths = (['read', 'write'] as const).flatMap((key) => sandbox[key].map((path) => ({ key, path })))
  const missing = paths.find(({ path }) => !existsSync(path))
  return missing === undefined
    ? undefined
    : `has ${missing.path} in "${missing.key}" of its "sandbox", which is not there; make it, or correct the path`
}
