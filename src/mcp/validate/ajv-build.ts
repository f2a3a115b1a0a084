// ajv, loaded when the first schema needs it. The program has its sixty modules in one file.

import type { Ajv, Options, _ } from 'ajv'
import type { Dialect } from './schema-keywords.js'

/** One of ajv's builds, and the template tag with which keywords write code. */
export interface AjvBuild {
  readonly Ajv: new (options: Options) => Ajv
  readonly code: typeof _
}

// Bundled, a CommonJS package has its default export alone; unbundled it has that too.
const entries: Readonly<Record<Dialect, () => Promise<AjvBuild>>> = {
  'draft-07': () => import('ajv').then(({ default: { Ajv, _: code } }) => ({ Ajv, code })),
  '2019-09': () =>
    import('ajv/dist/2019.js').then(({ default: { Ajv2019: Ajv, _: code } }) => ({ Ajv, code })),
  '2020-12': () =>
    import('ajv/dist/2020.js').then(({ default: { Ajv2020: Ajv, _: code } }) => ({ Ajv, code })),
}

/** Loads once in a process, however often it is called, since modules are. Returns in a turn of its own. */
export async function loadAjv(dialect: Dialect): Promise<AjvBuild> {
  const build = await entries[dialect]()
  await nextTurn()
  return build
}

/** After the input and output that waits now has been handled. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve)
  })
}
