// Files that the code of a session leaves for its client.

import { FILE_TIME, fileTimeMs } from './file-time.js'
import type { FoundArtifact } from './repl.js'
import { type Within, readStarted } from './small-run.js'

/** The folder for them, in that of the session. */
const artifactFolder = 'artifacts'

/** A file that was not told of yet, or has changed. */
export interface Artifact {
  /** From the folder of the session. */
  readonly path: string
  readonly bytes: number
}

/** Of one call. */
const ARTIFACTS_MAX = 20

const LISTING_BYTES_MAX = 1024 * 1024

/** Of which code has told since the last listing; those before are new again. */
const TOLD_MAX = 10_000

/** Name, bytes and seconds of each file; where there is no such folder nothing more is started. */
const SCRIPT = `[ -d ${artifactFolder} ] || exit 0; exec find ${artifactFolder} -maxdepth 1 -type f -printf '%f/%s/%T@\\n'`

/** Which files a client was told of. */
export class Artifacts {
  /** All of the last listing, which is limited: a file that it left out is new when it is found again. */
  #listed: ReadonlyMap<string, string> = new Map()
  /** What code has told since then. */
  readonly #since = new Map<string, string>()

  /** Those of them that are new; code tells only what it has changed. */
  fresh(changed: readonly FoundArtifact[]): Artifact[] {
    const fresh = this.#new(changed)
    for (const each of fresh) this.#tell(each)
    return shown(fresh)
  }

  /** Those that a command has left. */
  async look({ machine, clock }: Within): Promise<Artifact[]> {
    const listing =
      machine.list?.(`${machine.workspace}/${artifactFolder}`) ??
      machine.run({ program: 'sh', args: ['-c', SCRIPT] })
    const listed = await readStarted(listing, clock, LISTING_BYTES_MAX)
    if (listed.kind !== 'read') return []
    const found = listed.bytes.toString('utf8').split('\n').flatMap(lineOf)
    const fresh = this.#new(found)
    this.#listed = new Map(found.map((each) => [each.name, versionOf(each)]))
    this.#since.clear()
    return shown(fresh)
  }

  #new(found: readonly FoundArtifact[]): FoundArtifact[] {
    return found.filter((each) => {
      const told = this.#since.get(each.name) ?? this.#listed.get(each.name)
      return told !== versionOf(each)
    })
  }

  #tell(found: FoundArtifact): void {
    this.#since.delete(found.name)
    this.#since.set(found.name, versionOf(found))
    if (this.#since.size <= TOLD_MAX) return
    const [oldest] = this.#since.keys()
    if (oldest !== undefined) this.#since.delete(oldest)
  }
}

function shown(fresh: readonly FoundArtifact[]): Artifact[] {
  return fresh
    .slice(0, ARTIFACTS_MAX)
    .map(({ name, bytes }) => ({ path: `${artifactFolder}/${name}`, bytes }))
}

function versionOf({ bytes, changedMs }: FoundArtifact): string {
  return `${bytes} ${changedMs}`
}

const LINE = new RegExp(`^([^/]+)/(\\d+)/(${FILE_TIME})$`)

function lineOf(line: string): FoundArtifact[] {
  const [, name, bytes, time] = LINE.exec(line) ?? []
  if (name === undefined || time === undefined) return []
  return [{ name, bytes: Number(bytes), changedMs: fileTimeMs(time) }]
}
