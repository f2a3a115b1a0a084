// The files of a folder, told as `find -printf '%f/%s/%T@\n'` tells them.

import { Buffer } from 'node:buffer'
import { type Dirent, lstatSync, opendirSync } from 'node:fs'
import { join } from 'node:path'

/** A folder with more is listed in part. */
const FILES_MAX = 1000

/** Fits into the window of a channel, so that nobody waits for anything. */
const LISTING_BYTES_MAX = 128 * 1024

const SECOND_NS = 1_000_000_000n

/** The plain files in a folder; empty when it cannot be read. */
export function listingOf(folder: string): Buffer {
  let listing = ''
  for (const name of filesIn(folder)) {
    const more = listing + lineOf(folder, name)
    if (Buffer.byteLength(more) > LISTING_BYTES_MAX) break
    listing = more
  }
  return Buffer.from(listing)
}

function filesIn(folder: string): string[] {
  try {
    const opened = opendirSync(folder)
    const names: string[] = []
    let entry: Dirent | null
    while (names.length < FILES_MAX && (entry = opened.readSync()) !== null)
      if (entry.isFile()) names.push(entry.name)
    opened.closeSync()
    return names
  } catch {
    return []
  }
}

function lineOf(folder: string, name: string): string {
  try {
    const { size, mtimeNs } = lstatSync(join(folder, name), { bigint: true })
    // Before 1970 too the fraction counts forward.
    const fraction = ((mtimeNs % SECOND_NS) + SECOND_NS) % SECOND_NS
    const digits = String(fraction).padStart(9, '0')
    return `${name}/${size}/${(mtimeNs - fraction) / SECOND_NS}.${digits.slice(0, 3)}\n`
  } catch {
    // It was removed meanwhile, or its name is no text.
    return ''
  }
}
