// The mounts of one confined program: the paths of its policy and the files of its own program, without links.
//
// A link below a folder that the program may write may be its own, and is never followed: what is there is part of that folder.
// A link that another confined program may have made is refused. Other links on the way to a path are made again inside. Each path
// is opened once, and bwrap mounts what is open, so that nothing can be put in its place meanwhile.

import { closeSync, constants, existsSync, openSync, readlinkSync, realpathSync } from 'node:fs'
import { dirname, isAbsolute, join } from 'node:path'
import { isProgram, pathFolders } from '../runtime/path-folders.js'
import { type Place, covers, placesOf, realPlace, shieldsOf } from '../runtime/places.js'

/** `O_PATH` of open(2) on Linux: a descriptor that says only where a file is. */
const O_PATH = 0o10000000

const systemPaths = ['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/libx32', '/proc', '/dev']

/** The parts of an installation that its programs read; what else lies beside them, as in a home, stays hidden. */
const installationParts = ['bin', 'lib', 'lib64', 'include', 'pyvenv.cfg']

export interface MountedPaths {
  readonly read: readonly string[]
  /** The home is one of them. */
  readonly write: readonly string[]
  /** Folders that other confined programs may write. */
  readonly untrusted: readonly string[]
  /** The programs that run inside: a path, or a name in the PATH of the program. */
  readonly programs: readonly string[]
  readonly path: string | undefined
  /** Paths of the system that are mounted in any case. */
  readonly system: readonly string[]
}

export interface PolicyMounts {
  /** Paths without links; the later ones are mounted over the earlier ones. */
  readonly mounts: readonly { readonly path: string; readonly isWritable: boolean }[]
  /** The links that lead to these paths. */
  readonly links: readonly { readonly path: string; readonly target: string }[]
}

/** @throws Error for a path behind a link that another program may have made */
export function policyMounts({ read, write, untrusted, programs, path, system }: MountedPaths): PolicyMounts {
  const writable = ownFolders(write)
  const isInside = (places: readonly Place[]): boolean =>
    places.some((place) => writable.some((folder) => covers(folder, place.path)))
  const outside = (paths: readonly string[]): (readonly Place[])[] =>
    paths.map((each) => placesOf(each)).filter((places) => !isInside(places))
  const own = programs.flatMap((each) => programPaths(each, path, (found) => !isInside(placesOf(found))))
  const readable = outside([...own, ...read])
  const foreign = untrusted.map(realPlace)
  const wanted = [...readable, ...write.map((each) => placesOf(each))]
  for (const places of wanted) assertTrusted(places, foreign)
  const mounts = [
    ...distinct(readable.map(endOf)).map((each) => ({ path: each, isWritable: false })),
    ...writable.map((each) => ({ path: each, isWritable: true })),
    ...distinct(shieldsOf(read, writable)).map((each) => ({ path: each, isWritable: false })),
  ]
  const there = [...systemPaths, ...system, ...mounts.map((mount) => mount.path)]
  const links = wanted
    .flat()
    .filter((place) => place.linkOwner !== undefined && !there.some((each) => covers(each, place.path)))
  const linkPaths = distinct(links.map((link) => link.path))
  return { mounts, links: linkPaths.map((each) => ({ path: each, target: readlinkSync(each) })) }
}

/** The writable folders without those that lie in another one, where the program could have put a link. */
function ownFolders(write: readonly string[]): string[] {
  const all = write.map((path) => placesOf(path))
  const ends = all.map(endOf)
  const free = all.filter(
    (places) =>
      !places.some((place) =>
        ends.some((end) => end !== endOf(places) && covers(end, place.path) && end !== place.path),
      ),
  )
  return distinct(free.map(endOf))
}

function assertTrusted(places: readonly Place[], untrusted: readonly string[]): void {
  const link = places.find(
    ({ path, linkOwner }) => linkOwner !== undefined && untrusted.some((folder) => covers(folder, path)),
  )
  if (link === undefined) return
  throw new Error(
    `${endOf(places)} is in the policy by the link ${link.path}, which another confined program may have made: name the folder itself`,
  )
}

function endOf(places: readonly Place[]): string {
  return places.at(-1)?.path ?? '/'
}

function distinct(paths: readonly string[]): string[] {
  return [...new Set(paths)]
}

/** The files of a program outside the system folders: those of its Node or virtual environment, else the file. */
function programPaths(
  command: string,
  path: string | undefined,
  isOutside: (path: string) => boolean,
): string[] {
  const candidates = isAbsolute(command)
    ? [command]
    : pathFolders(path).map((folder) => join(folder, command))
  const found = candidates.find((each) => isProgram(each))
  if (found === undefined || !isOutside(found)) return []
  // Not after the search for an installation: that of `/bin` would be the root.
  const own = [found, realpathSync(found)].filter(
    (each) => !systemPaths.some((folder) => covers(folder, each)),
  )
  return own.flatMap((each) => {
    const installation = dirname(dirname(each))
    const marks = ['lib/node_modules', 'pyvenv.cfg'].map((mark) => join(installation, mark))
    if (!marks.some((mark) => existsSync(mark))) return [each]
    return installationParts.map((part) => join(installation, part)).filter((part) => existsSync(part))
  })
}

/** Opens a path without links, which bwrap then mounts. @throws Error when it has become a link */
export function openPath(path: string): number {
  const descriptor = openSync(path, O_PATH | constants.O_NOFOLLOW)
  if (readlinkSync(`/proc/self/fd/${descriptor}`) === path) return descriptor
  closeSync(descriptor)
  throw new Error(`${path} has become a link while the program was started`)
}
