// Files that the code of a session leaves for its client.

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

/** Which a client was told of; those before are new again. */
const TOLD_MAX = 10_000

/** Name, bytes and seconds of each file; where there is no such folder nothing more is started. */
const SCRIPT = `[ -d ${artifactFolder} ] || exit 0; exec find ${artifactFolder} -maxdepth 1 -type f -printf '%f/%s/%T@\\n'`

/** Which files a client was told of. */
export class Artifacts {
  readonly #told = new Map<string, string>()

  /** Those of them that are new. */
  fresh(found: readonly FoundArtifact[]): Artifact[] {
    const fresh = found.filter(
      ({ name, bytes, changedMs }) => this.#told.get(name) !== `${bytes} ${changedMs}`,
    )
    for (const { name, bytes, changedMs } of fresh) this.#tell(name, `${bytes} ${changedMs}`)
    return fresh
      .slice(0, ARTIFACTS_MAX)
      .map(({ name, bytes }) => ({ path: `${artifactFolder}/${name}`, bytes }))
  }

  #tell(name: string, version: string): void {
    this.#told.delete(name)
    this.#told.set(name, version)
    const [oldest] = this.#told.keys()
    if (this.#told.size > TOLD_MAX && oldest !== undefined) this.#told.delete(oldest)
  }

  /** Those that a command has left. */
  async look({ machine, clock }: Within): Promise<Artifact[]> {
    const listing =
      machine.list?.(`${machine.workspace}/${artifactFolder}`) ??
      machine.run({ program: 'sh', args: ['-c', SCRIPT] })
    const listed = await readStarted(listing, clock, LISTING_BYTES_MAX)
    const lines = listed.kind === 'read' ? listed.bytes.toString('utf8').split('\n') : []
    return this.fresh(lines.flatMap(lineOf))
  }
}

function lineOf(line: string): FoundArtifact[] {
  const [, name, bytes, seconds, fraction = ''] = /^([^/]+)\/(\d+)\/(\d+)(?:\.(\d*))?$/.exec(line) ?? []
  if (name === undefined) return []
  const milliseconds = Number(fraction.slice(0, 3).padEnd(3, '0'))
  return [{ name, bytes: Number(bytes), changedMs: Number(seconds) * 1000 + milliseconds }]
}
