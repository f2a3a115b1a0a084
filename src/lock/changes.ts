// The differences between the lock and what a server lists, and how people read them. Pure: no file and no clock.

import { quote } from '../jsonrpc/text.js'
import type { ListItem } from '../mcp/list-items.js'
import { changedLines } from '../text/changed-lines.js'
import { inShell } from '../text/escape.js'
import type { Listed, ListChange, LockedKind } from '../upstream/contracts/list-guard.js'
import { type Content, contentOf } from './content.js'
import { type Contents, type LockedServer, lockedKinds } from './lock-file.js'
import { showUnseen, unseenIn } from './unseen.js'

/** The lists of a server; one that is not known is undefined. */
export type ListedServer = Readonly<Record<LockedKind, Contents | undefined>>

/** A difference, with both sides. */
export interface Change extends ListChange {
  readonly before: Content | undefined
  readonly after: Content | undefined
}

/** The name of the one entry of instructions. */
export const INSTRUCTIONS = 'instructions'

export type KnownContents = WeakMap<ListItem, Content>

export function contentsOf({ instructions, lists }: Listed, known: KnownContents): ListedServer {
  const { text = '' } = instructions ?? {}
  const entries = text === '' ? [] : [[INSTRUCTIONS, contentOf(Buffer.from(quote(text)))] as const]
  return {
    instructions: instructions && new Map(entries),
    tools: named(lists.get('tools'), known),
    prompts: named(lists.get('prompts'), known),
  }
}

/** Of items with the same name the first counts, as it does for clients. */
function named(items: readonly ListItem[] | undefined, known: KnownContents): Contents | undefined {
  if (items === undefined) return undefined
  const contents = new Map<string, Content>()
  for (const item of items) {
    if (contents.has(item.key)) continue
    const content = known.get(item) ?? contentOf(item.line)
    known.set(item, content)
    contents.set(item.key, content)
  }
  return contents
}

/**
 * In the order of the lists.
 *
 * A server may list more to clients that it can ask something, so only lists for clients of all kinds show what is removed.
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

/** The lock of a server of which nothing was accepted yet. */
export function lockedAs({ instructions, tools, prompts }: ListedServer): LockedServer {
  const none: Contents = new Map()
  return { instructions: instructions ?? none, tools: tools ?? none, prompts: prompts ?? none }
}

/** The lock with what the server lists now in the place of these changes. */
export function withAccepted(locked: LockedServer, changes: readonly Change[]): LockedServer {
  return changes.reduce((server, { kind, name, after }) => {
    const entries = new Map(server[kind])
    if (after === undefined) entries.delete(name)
    else entries.set(name, after)
    return { ...server, [kind]: entries }
  }, locked)
}

/** The subject of a change, such as `the tool 'read_file'`. */
export function subjectOf({ kind, name }: Pick<Change, 'kind' | 'name'>): string {
  if (kind === 'instructions') return 'the text of its instructions'
  return `the ${kind === 'tools' ? 'tool' : 'prompt'} '${showUnseen(name)}'`
}

/** A name of a server's own, which a shell might read as a command, is left out. */
export function acceptCommand(schema: string, server: string, item: string | undefined): string {
  const target = item !== undefined && inShell(item) === item ? `${server}/${item}` : server
  const ofSchema = schema === 'default' ? '' : ` --schema ${schema}`
  return `mcps-proxy lock${ofSchema} --accept ${inShell(target)}`
}

/** Lines that are shown for one item; further ones are counted. */
const LINES_MAX = 200

/** Comparing takes the square of this. */
const COMPARED_LINES_MAX = 2000

/** The lines that go and those that come, with a name in the place of each invisible character. */
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

/** Of a line with invisible characters, so much is shown. */
const SHOWN_LENGTH_MAX = 200

/** The invisible characters of a content, each with its line. */
export function unseenLines(content: Content | undefined): string[] {
  const lines = linesOf(content).flatMap((line) => {
    const found = unseenIn(line)
    return found === undefined ? [] : [`${found} in ${showUnseen(line.trim()).slice(0, SHOWN_LENGTH_MAX)}`]
  })
  return lines.slice(0, UNSEEN_LINES_MAX)
}

/** Without commas at the ends, which change with the line below. */
function linesOf(content: Content | undefined): string[] {
  return content?.text.split('\n').map((line) => line.replace(/,$/, '')) ?? []
}
