// Finds the differences between the lock and the lists of a server, and describes them for people.

import { quote } from '../jsonrpc/text.js'
import type { ListItem } from '../mcp/list-items.js'
import { changedLines } from '../text/changed-lines.js'
import { inShell } from '../text/escape.js'
import type { Listed, ListChange, LockedKind } from '../upstream/contracts/list-guard.js'
import { type Content, contentOf } from './content.js'
import { type Contents, type LockedServer, lockedKinds } from './lock-file.js'
import { showUnseen, unseenIn } from './unseen.js'

/** The lists of a server. An unknown list is undefined. */
export type ListedServer = Readonly<Record<LockedKind, Contents | undefined>>

/** A difference, with the locked and the listed content. */
export interface Change extends ListChange {
  readonly before: Content | undefined
  readonly after: Content | undefined
}

/** The name of the only entry of the kind `instructions`. */
export const INSTRUCTIONS = 'instructions'

export function contentsOf({ instructions, lists }: Listed): ListedServer {
  const { text = '' } = instructions ?? {}
  const entries = text === '' ? [] : [[INSTRUCTIONS, contentOf(Buffer.from(quote(text)))] as const]
  return {
    instructions: instructions && new Map(entries),
    tools: named(lists.get('tools')),
    prompts: named(lists.get('prompts')),
  }
}

/** The first item with a name counts, because clients get only that one. */
function named(items: readonly ListItem[] | undefined): Contents | undefined {
  if (items === undefined) return undefined
  const contents = new Map<string, Content>()
  for (const { key, line } of items) if (!contents.has(key)) contents.set(key, contentOf(line))
  return contents
}

/**
 * Returns the changes in the order of the lists.
 *
 * A server may hide items from clients that it cannot ask for input. So a missing item counts as removed only
 * with `isOfAll`: the lists are those for clients of all kinds.
 */
export function changesOf(locked: LockedServer, listed: ListedServer, isOfAll: boolean): Change[] {
  return lockedKinds.flatMap((kind) => {
    const [entries, items] = [locked[kind], listed[kind]]
    if (items === undefined) return []
    const names = new Set([...items.keys(), ...(isOfAll ? entries.keys() : [])])
    return [...names].flatMap((name): Change[] => {
      const [before, after] = [entries.get(name), items.get(name)]
      if (before?.hash === after?.hash) return []
      const change = before === undefined ? 'new' : after === undefined ? 'removed' : 'changed'
      return [{ kind, name, change, before, after }]
    })
  })
}

/** Locks a server with its first lists. */
export function lockedAs({ instructions, tools, prompts }: ListedServer): LockedServer {
  const none: Contents = new Map()
  return { instructions: instructions ?? none, tools: tools ?? none, prompts: prompts ?? none }
}

/** Returns the lock with the listed contents of these changes. */
export function withAccepted(locked: LockedServer, changes: readonly Change[]): LockedServer {
  return changes.reduce((server, { kind, name, after }) => {
    const entries = new Map(server[kind])
    if (after === undefined) entries.delete(name)
    else entries.set(name, after)
    return { ...server, [kind]: entries }
  }, locked)
}

/** Returns the subject of a change, such as `the tool 'read_file'`. */
export function subjectOf({ kind, name }: Pick<Change, 'kind' | 'name'>): string {
  if (kind === 'instructions') return 'the text of its instructions'
  return `the ${kind === 'tools' ? 'tool' : 'prompt'} '${showUnseen(name)}'`
}

/** Leaves out an item name that needs quotes in a shell, because the server chose the name. */
export function acceptCommand(schema: string, server: string, item: string | undefined): string {
  const target = item !== undefined && inShell(item) === item ? `${server}/${item}` : server
  const ofSchema = schema === 'default' ? '' : ` --schema ${schema}`
  return `mcps-proxy lock${ofSchema} --accept ${inShell(target)}`
}

/** The most lines that the report shows for one item. The report counts further lines. */
const LINES_MAX = 200

/** The time of a comparison grows with the square of this number. */
const COMPARED_LINES_MAX = 2000

/** Returns the removed and the added lines, with a name in the place of each invisible character. */
export function differences({ before, after }: Pick<Change, 'before' | 'after'>): string[] {
  const [was, is] = [linesOf(before), linesOf(after)]
  const [old = '', now = ''] = [was, is].map((lines) => lines.slice(0, COMPARED_LINES_MAX).join('\n'))
  const changed = changedLines(old, now)
    .split('\n')
    .filter((line) => !/^(?:[-+] *)?$/.test(line))
  const isCut = Math.max(was.length, is.length) > COMPARED_LINES_MAX
  return [
    ...changed.slice(0, LINES_MAX).map(showUnseen),
    ...(changed.length > LINES_MAX ? [`and ${changed.length - LINES_MAX} more lines`] : []),
    ...(isCut ? [`lines behind the first ${COMPARED_LINES_MAX} are not compared here`] : []),
  ]
}

const UNSEEN_LINES_MAX = 40

/** The most characters that the report shows of a line with invisible characters. */
const SHOWN_LENGTH_MAX = 200

/** Reports the invisible characters of a content, each with its line. */
export function unseenLines(content: Content | undefined): string[] {
  const lines = linesOf(content).flatMap((line) => {
    const found = unseenIn(line)
    return found === undefined ? [] : [`${found} in ${showUnseen(line.trim()).slice(0, SHOWN_LENGTH_MAX)}`]
  })
  return lines.slice(0, UNSEEN_LINES_MAX)
}

/** Removes commas at the ends of lines, because they depend on the next line. */
function linesOf(content: Content | undefined): string[] {
  return content?.text.split('\n').map((line) => line.replace(/,$/, '')) ?? []
}
