// What an earlier run of the proxy has left on disk.

/** What is kept of one server; all but the first four must not be believed. */
export type Left =
  | 'nothing'
  /** What it says today. */
  | 'same'
  /** Lists that it has no more. */
  | 'stale'
  /** That its last start failed. */
  | 'silent'
  /** A list whose items are no JSON. */
  | 'damaged'
  /** An entry of which a member is missing. */
  | 'torn'
  /** A server of the same name with other values, as another schema may have it. */
  | 'other-values'
  /** The same server of another configuration. */
  | 'other-file'

export interface KeptPlan {
  /** Of each server, in their order. */
  readonly left: readonly Left[]
  /** What is wrong with the disk until everything is mended. */
  readonly disk: 'well' | 'full' | 'unreadable' | 'no-folder'
  /** Only the first half of the file was written. */
  readonly isTorn: boolean
}

/** What nobody may be shown has this word in it. */
export const ALIEN = 'alien'

/** A tool that servers had once. */
export const GONE = 'gone'

/** Whether clients may be shown what was left of a server. */
export function isShown({ left, disk, isTorn }: KeptPlan, at: number): boolean {
  const what = left[at] ?? 'nothing'
  return ['same', 'stale', 'silent'].includes(what) && disk !== 'unreadable' && !isTorn
}
