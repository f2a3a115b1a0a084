// What sessions may be given of the machine, by name.

import type { SandboxFlavor } from '../upstream/contracts/sandbox-config.js'
import type { MachineFlavor } from './runtime.js'

export const flavorNames: readonly SandboxFlavor[] = ['small', 'medium', 'large']

export const flavors: Readonly<Record<SandboxFlavor, MachineFlavor>> = {
  small: { cpus: 1, memoryMiB: 1024, pids: 256, diskGiB: 1 },
  medium: { cpus: 2, memoryMiB: 2048, pids: 512, diskGiB: 2 },
  large: { cpus: 4, memoryMiB: 4096, pids: 1024, diskGiB: 4 },
}
