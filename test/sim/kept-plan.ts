// What an earlier run of the proxy has left on disk.

/** What is kept of one server; all but the first four must not be believed. */
export type Left =
  | 'nothing'
  /** What it says today. */
  | 'same'
  /** Lists that it has no more. */
  | 'stale'
  /** That it did not answer the last time. */
  | 'silent'
  /** One byte is another one. */
  | 'damaged'
  /** Only the first half was written. */
  | 'torn'
  /** What was kept of a server with other values, under the name of this one. */
  | 'swapped'
  /** A server of the same name with other values, as another schema may have it. */
  | 'other-values'
  /** The same server of another configuration. */
  | 'other-file'

export interface KeptPlan {
  /** Of each server, in their order. */
  readonly left: readonly Left[]
  /** What is wrong with the disk until everything is mended. */
  readonly disk: 'well' | 'full' | 'unreadable' | 'no-folder'
  /** The key that the files were named with is damaged, so that none of them can be found. */
  readonly isKeyTorn: boolean
}

/** What nobody may be shown has this word in it. */
export const ALIEN = 'alien'

/** A tool that servers had once. */
export const GONE = 'gone'

/** Whether clients may be shown what was left of a server. */
export function isShown({ left, disk, isKeyTorn }: KeptPlan, at: number): boolean {
  const what = left[at] ?? 'nothing'
  return ['same', 'stale', 'silent'].includes(what) && disk !== 'unreadable' && !isKeyTorn
}
