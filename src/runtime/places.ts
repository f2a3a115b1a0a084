// The directory entries that decide where a path leads.
//
// A program that may write in a folder may replace every entry of it: a file, a folder or a link. So a path
// is safe from that program only if none of its places lies in that folder.

import { lstatSync, readlinkSync, statSync } from 'node:fs'
import { dirname, isAbsolute, join, parse, resolve, sep } from 'node:path'

/** One entry that the system looks up on the way. The folders above it are not links. */
export interface Place {
  readonly path: string
  /** The user who owns the link; undefined if the entry is not a link. */
  readonly linkOwner: number | undefined
}

/** Linux follows as many links. */
const LINKS_MAX = 40

/** The places of a path in the order of the lookup. A missing entry, and the entries below it, are places too. */
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

/** The path without links. Missing entries stay as written. */
export function realPlace(path: string): string {
  return placesOf(path).at(-1)?.path ?? path
}

/** Whether `path` is this folder or lies in it. */
export function covers(folder: string, path: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : `${folder}${sep}`)
}

/**
 * Returns the readable folders that lie directly in a writable one; both are without links.
 *
 * Such a folder is mounted read-only, and a program inside can change neither it nor its name. So it protects
 * its content. A single file or a deeper folder does not: the program can rename a folder above it. Nor does
 * a link in a writable folder, because the program may have made it.
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
