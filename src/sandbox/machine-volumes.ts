// The volumes of the machines of one runtime: a volume stays the folder that it was when it was first used.

import process from 'node:process'
import { type MachineSpec, MachineStartError } from './runtime.js'
import type { HostIdentity } from './runtimes/bubblewrap/identities.js'
import type { StateFolder } from './state-folder.js'
import { type CheckedVolume, checkVolumes, notTheSame } from './volumes.js'

/** Checks volumes before each start. */
export class MachineVolumes {
  readonly #folder: StateFolder
  readonly #runAs: HostIdentity | undefined
  readonly #known = new Map<string, CheckedVolume>()

  constructor(folder: StateFolder, runAs: HostIdentity | undefined) {
    this.#folder = folder
    this.#runAs = runAs
  }

  /** @throws MachineStartError */
  async of({ volumes }: Pick<MachineSpec, 'volumes'>): Promise<CheckedVolume[]> {
    const { checked, problems } = await checkVolumes(volumes)
    const [first] = problems
    if (first !== undefined) {
      const { hostPath } = first.volume
      throw new MachineStartError(this.#known.has(hostPath) ? notTheSame(hostPath) : first.problem)
    }
    return checked.map((volume) => {
      const known = this.#known.get(volume.hostPath) ?? volume
      this.#known.set(volume.hostPath, known)
      this.#assertPossible(volume)
      return { ...volume, device: known.device, inode: known.inode }
    })
  }

  #assertPossible({ hostPath, isReadOnly }: CheckedVolume): void {
    if (this.#folder.overlaps(hostPath))
      throw new MachineStartError(`${hostPath} and the state folder of the sandbox lie in each other`)
    if (!isReadOnly && process.getuid?.() === 0 && this.#runAs === undefined) {
      throw new MachineStartError(
        `${hostPath} can be written to by no session, as each has a user of its own: add :ro, or set runAs to its owner`,
      )
    }
  }
}
