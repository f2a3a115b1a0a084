// The differences between the lock and what a server lists, and how people read them. Pure: no file and no clock.

import { quote } from '../jsonrpc/text.js'
import type { ListItem } from '../mcp/list-items.js'
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

/** A value inside of a content, and the members that lead to it. */
interface Leaf {
  readonly path: string
  readonly text: string
}

/** Lines for one item; further ones are counted or left out. */
const LINES_MAX = 40

const SHOWN_LENGTH_MAX = 1000

/** The characters before and behind a difference inside a text. */
const CONTEXT_LENGTH = 24

/** One line for each value that differs; `[-…-]` is gone and `{+…+}` has come, as in `git diff --word-diff`. */
export function differences({ before, after }: Pick<Change, 'before' | 'after'>): string[] {
  const [was, is] = [leavesOf(before), leavesOf(after)]
  const [gone, come] = [minus(was, is), minus(is, was)]
  if (gone.length + come.length === 0) return ['another order']
  const lines = gone.slice(0, LINES_MAX).map((leaf) => {
    const at = come.findIndex(({ path }) => path === leaf.path)
    const [next] = at < 0 ? [] : come.splice(at, 1)
    return labelled(leaf, next === undefined ? `[-${shown(leaf.text)}-]` : marked(leaf.text, next.text))
  })
  const more = come.slice(0, LINES_MAX - lines.length)
  lines.push(...more.map((leaf) => labelled(leaf, `{+${shown(leaf.text)}+}`)))
  const left = Math.max(gone.length - LINES_MAX, 0) + come.length - more.length
  return left === 0 ? lines : [...lines, `and ${left} more differences`]
}

/** The invisible characters of a content, with their places. */
export function unseenLines(content: Content | undefined): string[] {
  const lines = leavesOf(content).flatMap(({ path, text }) => {
    const found = unseenIn(`${path} ${text}`)
    return found === undefined ? [] : [path === '' ? found : `${found} in ${showUnseen(path)}`]
  })
  return lines.slice(0, LINES_MAX)
}

function labelled({ path }: Leaf, difference: string): string {
  return path === '' ? difference : `${showUnseen(path)}: ${difference}`
}

/** The lines of a content that have a value, with the names of the members around it. */
function leavesOf(content: Content | undefined): Leaf[] {
  const path: string[] = []
  return (content?.text.split('\n') ?? []).flatMap((line): Leaf[] => {
    const { depth, name, text } = lineOf(line)
    path.splice(depth, path.length, name)
    const isLeaf = !['{', '[', '}', ']'].includes(text)
    return isLeaf ? [{ path: path.filter((each) => each !== '').join('.'), text }] : []
  })
}

/** The parts of a line; the items of a list have no name. */
function lineOf(line: string): { readonly depth: number; readonly name: string; readonly text: string } {
  const start = line.search(/[^ ]/)
  const depth = start / 2
  const text = line.slice(start, line.endsWith(',') ? -1 : undefined)
  if (!text.startsWith('"')) return { depth, name: '', text }
  let end = 1
  while (text[end] !== '"') end += text[end] === '\\' ? 2 : 1
  const isMember = text.startsWith(': ', end + 1)
  return isMember ? { depth, name: text.slice(1, end), text: text.slice(end + 3) } : { depth, name: '', text }
}

/** The leaves that `others` has less often. */
function minus(leaves: readonly Leaf[], others: readonly Leaf[]): Leaf[] {
  const left = new Map<string, number>()
  const keyOf = ({ path, text }: Leaf): string => `${path}\n${text}`
  for (const other of others) left.set(keyOf(other), (left.get(keyOf(other)) ?? 0) + 1)
  return leaves.filter((leaf) => {
    const count = left.get(keyOf(leaf)) ?? 0
    left.set(keyOf(leaf), count - 1)
    return count <= 0
  })
}

/** The part of both texts that differs, with a few characters around it. */
function marked(before: string, after: string): string {
  const [one, other] = [Array.from(showUnseen(before)), Array.from(showUnseen(after))]
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let end = 0
  const endMax = Math.min(one.length, other.length) - start
  while (end < endMax && one.at(-1 - end) === other.at(-1 - end)) end++
  const gone = one.slice(start, one.length - end).join('')
  const come = other.slice(start, other.length - end).join('')
  return [
    start > CONTEXT_LENGTH ? '…' : '',
    one.slice(Math.max(0, start - CONTEXT_LENGTH), start).join(''),
    gone === '' ? '' : `[-${shown(gone)}-]`,
    come === '' ? '' : `{+${shown(come)}+}`,
    one.slice(one.length - end, one.length - end + CONTEXT_LENGTH).join(''),
    end > CONTEXT_LENGTH ? '…' : '',
  ].join('')
}

function shown(text: string): string {
  const all = showUnseen(text)
  return all.length > SHOWN_LENGTH_MAX ? `${all.slice(0, SHOWN_LENGTH_MAX)}…` : all
}
