// A change as people read it, and the command that accepts it.

import { inShell } from '../text/escape.js'
import type { Change } from './compare.js'
import { differences, unseenLines } from './difference.js'
import type { Json } from './json.js'
import { showUnseen } from './unseen.js'

/** The subject of a change, such as `the tool 'read_file'`. */
export function subjectOf({ kind, name }: Pick<Change, 'kind' | 'name'>): string {
  if (kind === 'instructions') return 'the text of its instructions'
  return `the ${kind === 'tools' ? 'tool' : 'prompt'} '${showUnseen(name)}'`
}

const nothing: Json = { kind: 'object', members: [] }

/** The lines below a change. */
export function changeInWords({ classes, before, after, from }: Change): string[] {
  const [first] = classes
  if (from !== undefined) return [`was called '${showUnseen(from)}'`]
  if (first === 'removed') return ['is listed no more']
  const lines = differences(before?.json ?? nothing, after?.json)
  if (first === 'new') return ['was not listed before', ...lines]
  return lines
}

/** The invisible characters of an item behind the change. */
export function unseenOfChange({ name, after }: Change): string[] {
  return after === undefined ? [] : unseenLines(name, after.json)
}

/** A name of a server's own, which a shell might read as a command, is left out. */
export function acceptCommand(schema: string, server: string, change: Change | undefined): string {
  const item =
    change === undefined ? undefined : change.kind === 'instructions' ? 'instructions' : change.name
  const target = item !== undefined && inShell(item) === item ? `${server}/${item}` : server
  const ofSchema = schema === 'default' ? '' : ` --schema ${schema}`
  return `mcps-proxy lock${ofSchema} --accept ${inShell(target)}`
}
