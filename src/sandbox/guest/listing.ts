// The files of a folder, as `find -printf '%f/%s/%C@\n'` prints them, up to microseconds.

import { Buffer } from 'node:buffer'
import { type Dirent, lstatSync, opendirSync } from 'node:fs'
import { join } from 'node:path'

/** A folder with more is listed in part. */
const FILES_MAX = 1000

/** Fits into the window of a channel, so that nobody waits for anything. */
const LISTING_BYTES_MAX = 128 * 1024

const MICROSECOND_NS = 1000n
const MICROSECONDS_DIGITS = 6

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
    const { size, ctimeNs } = lstatSync(join(folder, name), { bigint: true })
    const digits = String(ctimeNs / MICROSECOND_NS)
    const [seconds, fraction] = [digits.slice(0, -MICROSECONDS_DIGITS), digits.slice(-MICROSECONDS_DIGITS)]
    return `${name}/${size}/${seconds}.${fraction}\n`
  } catch {
    // It was removed meanwhile, or its name is no text.
    return ''
  }
}
