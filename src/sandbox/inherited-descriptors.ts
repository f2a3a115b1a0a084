// Descriptors that an earlier program has left open in this process, and that every program it starts would inherit.
//
// A confined program could open files of the host below an inherited folder, so a program closes them before it starts others.

import { closeSync, readFileSync, readdirSync } from 'node:fs'

/** `O_CLOEXEC` of open(2), as `/proc` shows it; Node sets it for all that it opens. */
const O_CLOEXEC = 0o2000000

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
    // This is the descriptor by which the folder was read.
    return false
  }
}
