// Files that the code of a session leaves for its client.

import { type MachineUse, readAll } from './small-run.js'

/** The folder for artifacts, relative to that of the session. */
const artifactFolder = 'artifacts'

/** A file that is new or has changed. */
export interface Artifact {
  /** The path from the folder of the session. */
  readonly path: string
  readonly bytes: number
}

/** The most artifacts of one call. */
const ARTIFACTS_MAX = 20

const LISTING_BYTES_MAX = 1024 * 1024

/** Whether `find` has the options of GNU, which that of small images lacks. */
export const HAS_PRINTF = "find / -maxdepth 0 -printf '' 2>/dev/null"

/** Prints name, bytes and seconds of each file; starts no further program when the folder is absent. */
const SCRIPT = `cd ${artifactFolder} 2>/dev/null || exit 0
if ${HAS_PRINTF}; then exec find . -maxdepth 1 -type f -printf '%f/%s/%C@\\n'; fi
exec find . -maxdepth 1 -type f -exec stat -c '%n/%s/%Z' {} +`

interface Listed extends Artifact {
  readonly name: string
  /** When the content, name or rights of the file changed last; no program can set this time. */
  readonly changedUs: number
}

/** Finds the files that have changed since the last look. */
export class Artifacts {
  #newestUs = -Infinity
  /** Files that changed at that time: the clock of the kernel may stand still for some milliseconds. */
  #atNewest: ReadonlySet<string> = new Set()

  async look({ machine, clock }: MachineUse): Promise<Artifact[]> {
    const listed = await readAll({ machine, clock }, ['sh', '-c', SCRIPT], LISTING_BYTES_MAX)
    const bytes =
      listed.kind === 'read' ? listed.bytes : listed.kind === 'too-long' ? listed.beginning : undefined
    const found = (bytes?.toString('utf8') ?? '').split('\n').flatMap(lineOf)
    const changed = found.filter((each) => this.#isNew(each))
    for (const { changedUs } of changed) this.#newestUs = Math.max(this.#newestUs, changedUs)
    this.#atNewest = new Set(found.filter((each) => each.changedUs === this.#newestUs).map(keyOf))
    return changed
      .toSorted((one, other) => (one.name < other.name ? -1 : 1))
      .slice(0, ARTIFACTS_MAX)
      .map(({ path, bytes }) => ({ path, bytes }))
  }

  #isNew(each: Listed): boolean {
    return each.changedUs === this.#newestUs
      ? !this.#atNewest.has(keyOf(each))
      : each.changedUs > this.#newestUs
  }
}

function keyOf({ name, bytes }: Listed): string {
  return `${name}/${bytes}`
}

function lineOf(line: string): Listed[] {
  const [, name, bytes, seconds, fraction = ''] =
    /^(?:\.\/)?([^/]+)\/(\d+)\/(\d+)(?:\.(\d*))?$/.exec(line) ?? []
  // A client could not ask for a name that is not UTF-8.
  if (name === undefined || name.includes('\u{fffd}') || seconds === undefined) return []
  const changedUs = Number(seconds) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'))
  return [{ name, path: `${artifactFolder}/${name}`, bytes: Number(bytes), changedUs }]
}
