// Which entries of folders decide where a path leads.
//
// A program that may write in a folder may replace every entry of it: the file itself, a folder above the file, and a link on the
// way. So a path is safe from that program only if none of its places lies in that folder.

import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'

/** One entry of a folder that the system looks up on its way. The folders above it are real ones. */
export interface Place {
  readonly path: string
  /** The user who owns the link; undefined for an entry that is no link. */
  readonly linkOwner: number | undefined
}

/** As many as Linux follows. */
const LINKS_MAX = 40

/** The places of a path in the order of the lookup; an entry that is missing, and those below it, are places too. */
export function placesOf(path: string): Place[] {
  const whole = resolve(path)
  const places: Place[] = []
  let { root: folder } = parse(whole)
  let names = namesIn(whole.slice(folder.length))
  for (let links = 0; ;) {
    const [name, ...rest] = names
    if (name === undefined) return places
    names = rest
    if (name === '..') {
      folder = dirname(folder)
      continue
    }
    const at = join(folder, name)
    const link = links < LINKS_MAX ? linkAt(at) : undefined
    places.push({ path: at, linkOwner: link?.owner })
    if (link === undefined) folder = at
    else {
      links += 1
      if (isAbsolute(link.target)) folder = parse(link.target).root
      names = [...namesIn(link.target), ...rest]
    }
  }
}

function namesIn(path: string): string[] {
  return path.split(sep).filter((name) => name !== '' && name !== '.')
}

function linkAt(path: string): { readonly owner: number; readonly target: string } | undefined {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    return stats?.isSymbolicLink() === true ? { owner: stats.uid, target: readlinkSync(path) } : undefined
  } catch {
    return undefined
  }
}

/** The path without links; entries that are missing stay as they are written. */
export function realPlace(path: string): string {
  return placesOf(path).at(-1)?.path ?? path
}

/** Whether a path is this folder, or lies in it. */
export function covers(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

/**
 * The readable folders directly inside of a writable one; both are without links.
 *
 * Such a folder is mounted read-only, and neither it nor its name can be changed from inside. So it protects what is in it. A
 * single file, and a folder further below, do not: a folder above them can be renamed. A link in a writable folder does not
 * either, because the program may have made it.
 */
export function shieldsOf(read: readonly string[], writable: readonly string[]): string[] {
  return read.flatMap((path) => {
    const places = placesOf(path)
    const end = places.at(-1)?.path ?? path
    const links = places.filter(({ linkOwner }) => linkOwner !== undefined)
    const isFree = !links.some((link) => writable.some((folder) => covers(folder, link.path)))
    return isFree && writable.includes(dirname(end)) && isFolder(end) ? [end] : []
  })
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
