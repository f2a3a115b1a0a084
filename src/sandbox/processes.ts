// Helpers of programs that start confined programs: exit codes as shells have them, and descriptors.

import {
  closeSync,
  constants as flags,
  openSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from 'node:fs'
import { constants } from 'node:os'
import process from 'node:process'

/** A shell adds this number to a signal to make an exit code. */
export const SIGNALLED = 128

export function exitCodeOf(code: number | null | undefined, signal: string | null | undefined): number {
  if (code !== null && code !== undefined) return code
  const [, number = 0] = Object.entries(constants.signals).find(([name]) => name === signal) ?? []
  return SIGNALLED + number
}

/** `O_CLOEXEC` of open(2), as `/proc` shows it. Node sets it on every file that it opens. */
const O_CLOEXEC = 0o2000000

/**
 * Closes descriptors that an earlier program left open in this process. Every program that this process starts
 * would inherit them, and a confined program could open files of the host below an inherited folder.
 */
export function closeInheritedDescriptors(): void {
  for (const name of readdirSync('/proc/self/fd')) {
    const descriptor = Number(name)
    if (descriptor > 2 && isPassedOn(descriptor)) closeSync(descriptor)
  }
}

function isPassedOn(descriptor: number): boolean {
  try {
    const [, flags = '0'] =
      /^flags:\s+([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, 'latin1')) ?? []
    return (Number.parseInt(flags, 8) & O_CLOEXEC) === 0
  } catch {
    // This descriptor was used to list the folder, and is closed now.
    return false
  }
}

/** `O_PATH` of open(2) on Linux needs no right to read. The descriptor only identifies the file. */
const O_PATH = process.platform === 'linux' ? 0o10000000 : 0

/** Opens a file or a folder. Returns undefined if the path contains a link. @throws the error of the system */
export function openUnlinked(path: string, more = 0): number | undefined {
  const descriptor = openSync(path, O_PATH | flags.O_NOFOLLOW | more)
  const real = O_PATH === 0 ? realpathSync(path) : readlinkSync(`/proc/self/fd/${descriptor}`)
  if (real === path) return descriptor
  closeSync(descriptor)
  return undefined
}
