// A change in words: the value of before and the value of now.

import { canonicalText, isSame, type Json, memberOf, membersOfJson, stringIn } from './json.js'
import { runInWords, showUnseen, unseenIn } from './unseen.js'

/** Lines for one item; further differences are counted. */
const LINES_MAX = 20

/** Of each side of a difference. */
const SHOWN_LENGTH_MAX = 240

/** The characters before and behind a difference inside a text. */
const CONTEXT_LENGTH = 24

/** One line for each place where the values differ; `[-…-]` is gone and `{+…+}` has come, as in `git diff --word-diff`. */
export function differences(before: Json | undefined, after: Json | undefined): string[] {
  const lines = [...differing('', before, after)]
  const more = lines.length - LINES_MAX
  return more <= 0 ? lines : [...lines.slice(0, LINES_MAX), `and ${more} more differences`]
}

function* differing(path: string, before: Json | undefined, after: Json | undefined): Generator<string> {
  if (isSame(before, after)) return
  const [one, other] = [stringIn(before), stringIn(after)]
  if (one !== undefined && other !== undefined) return yield labelled(path, marked(one, other))
  if (before?.kind === 'object' && after?.kind === 'object') {
    const names = new Set([...membersOfJson(before), ...membersOfJson(after)].map(([name]) => name))
    for (const name of names)
      yield* differing(joined(path, name), memberOf(before, name), memberOf(after, name))
    return
  }
  if (before?.kind === 'array' && after?.kind === 'array') return yield labelled(path, listed(before, after))
  const gone = before === undefined ? '' : `[-${shown(canonicalText(before))}-]`
  const come = after === undefined ? '' : `{+${shown(canonicalText(after))}+}`
  yield labelled(path, `${gone}${come}`)
}

function labelled(path: string, difference: string): string {
  return path === '' ? difference : `${showUnseen(path)}: ${difference}`
}

function joined(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function listed(before: Json & { kind: 'array' }, after: Json & { kind: 'array' }): string {
  const [was, is] = [before.items.map(canonicalText), after.items.map(canonicalText)]
  const [had, has] = [new Set(was), new Set(is)]
  const gone = was.filter((item) => !has.has(item)).map((item) => `[-${shown(item)}-]`)
  const come = is.filter((item) => !had.has(item)).map((item) => `{+${shown(item)}+}`)
  return gone.length + come.length === 0 ? 'another order' : [...gone, ...come].join(' ')
}

/** The part of both texts that differs, with a few characters around it. */
function marked(before: string, after: string): string {
  const [one, other] = [Array.from(before), Array.from(after)]
  let start = 0
  while (start < one.length && start < other.length && one[start] === other[start]) start++
  let end = 0
  const endMax = Math.min(one.length, other.length) - start
  while (end < endMax && one.at(-1 - end) === other.at(-1 - end)) end++
  const head = one.slice(Math.max(0, start - CONTEXT_LENGTH), start).join('')
  const tail = one.slice(one.length - end, one.length - end + CONTEXT_LENGTH).join('')
  const gone = one.slice(start, one.length - end).join('')
  const come = other.slice(start, other.length - end).join('')
  return [
    start > CONTEXT_LENGTH ? '…' : '',
    oneLine(head),
    gone === '' ? '' : `[-${shown(gone)}-]`,
    come === '' ? '' : `{+${shown(come)}+}`,
    oneLine(tail),
    end > CONTEXT_LENGTH ? '…' : '',
  ].join('')
}

function shown(text: string): string {
  const line = oneLine(text)
  return line.length > SHOWN_LENGTH_MAX ? `${line.slice(0, SHOWN_LENGTH_MAX)}…` : line
}

function oneLine(text: string): string {
  return showUnseen(text.replaceAll('\r', '\\r').replaceAll('\n', '\\n').replaceAll('\t', '\\t'))
}

/** Every invisible character in the names and texts of a value, with its place; `name` is that of the item. */
export function unseenLines(name: string, json: Json): string[] {
  return [...unseenIn(name).map((run) => `${runInWords(run)} of the name`), ...unseenAt('', json)]
}

function* unseenAt(path: string, json: Json): Generator<string> {
  const where = path === '' ? '' : ` of ${showUnseen(path)}`
  const text = stringIn(json)
  if (text !== undefined) for (const run of unseenIn(text)) yield `${runInWords(run)}${where}`
  for (const [name, value] of membersOfJson(json)) {
    for (const run of unseenIn(name)) yield `${runInWords(run)} of the name ${showUnseen(joined(path, name))}`
    yield* unseenAt(joined(path, name), value)
  }
  if (json.kind === 'array')
    for (const [at, item] of json.items.entries()) yield* unseenAt(`${path}[${at}]`, item)
}
