// Edits one member of JSON with comments. All text around the member stays byte for byte.
//
// `modify` of jsonc-parser also formats the lines beside a member and removes the comments before it.

import { type JSONPath, type Node, findNodeAtLocation, parseTree } from 'jsonc-parser'

/** Sets a member, and adds it and its object if they are missing. Another value in the place of the object stays. */
export function setMember(text: string, path: JSONPath, name: string, value: unknown): string {
  const old = nodeAt(text, [...path, name])
  if (old !== undefined)
    return spliced(text, old.offset, old.length, valueText(text, value, lineIndent(text, old.offset)))
  const owner = nodeAt(text, path)
  if (owner !== undefined) return owner.type === 'object' ? appended(text, owner, value, name) : text
  const [last] = path.slice(-1)
  return last === undefined ? text : setMember(text, path.slice(0, -1), String(last), { [name]: value })
}

export function addItem(text: string, path: JSONPath, value: unknown): string {
  const owner = nodeAt(text, path)
  return owner === undefined ? text : appended(text, owner, value)
}

/** Puts the new item on a separate line if the last item has one, else behind the last item. */
function appended(text: string, owner: Node, value: unknown, name?: string): string {
  const key = name === undefined ? '' : `${JSON.stringify(name)}: `
  const newText = (around: string | undefined): string => key + valueText(text, value, around)
  const { indent, eol } = formOf(text)
  const end = owner.offset + owner.length - 1
  const last = owner.children?.at(-1)
  if (last === undefined) {
    const around = lineIndent(text, owner.offset)
    const inner = `${eol}${around}${indent}${newText(around + indent)}${eol}${around}`
    // Keeps comments, such as those about members that an editor removed.
    const place = text.slice(0, end).trimEnd().length
    return spliced(text, place, end - place, inner)
  }
  const after = last.offset + last.length
  const comma = commaAfter(text, after)
  const around = lineIndent(text, last.offset)
  const isBelow = text.slice(0, last.offset).endsWith(`\n${around}`)
  const behind = comma === undefined ? after : comma + 1
  // A comment may end the line. Text behind it on the same line would become part of it.
  const place = isBelow ? endOfLine(text, behind) : behind
  const gap = isBelow ? eol + around : ' '
  const added = gap + newText(isBelow ? around : undefined) + (comma === undefined ? '' : ',')
  const withMember = spliced(text, place, 0, added)
  return comma === undefined ? spliced(withMember, after, 0, ',') : withMember
}

function formOf(text: string): { readonly indent: string; readonly eol: string } {
  const [, indent = '  '] = /^([ \t]+)\S/m.exec(text) ?? []
  return { indent, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

/** Returns the text without a member or an item of a list. A line that becomes empty is removed too. */
export function removeMember(text: string, path: JSONPath): string {
  const node = nodeAt(text, path)
  const member = node?.parent?.type === 'property' ? node.parent : node
  const siblings = member?.parent?.children
  if (member === undefined || siblings === undefined) return text
  const end = member.offset + member.length
  const comma = commaAfter(text, end)
  const before = siblings[siblings.indexOf(member) - 1]
  const without = withoutLine(text, member.offset, comma === undefined ? end : comma + 1)
  // Removes the comma in front of the last member, because no member follows it any more.
  if (comma !== undefined || before === undefined) return without
  const inFront = commaAfter(text, before.offset + before.length)
  return inFront === undefined ? without : spliced(without, inFront, 1, '')
}

function nodeAt(text: string, path: JSONPath): Node | undefined {
  const tree = parseTree(text, [], { allowTrailingComma: true })
  return tree === undefined ? undefined : findNodeAtLocation(tree, path)
}

function spliced(text: string, at: number, length: number, put: string): string {
  return text.slice(0, at) + put + text.slice(at + length)
}

/** Writes a value on several lines below the indentation `around`, or on one line if that is undefined. */
function valueText(text: string, value: unknown, around: string | undefined): string {
  const { indent, eol } = formOf(text)
  if (around === undefined || typeof value !== 'object') return JSON.stringify(value)
  return JSON.stringify(value, undefined, indent).replaceAll('\n', eol + around)
}

/** Removes a range. Removes its whole line if nothing else is on it, else the blanks behind the range. */
function withoutLine(text: string, start: number, end: number): string {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const [rest = ''] = /^[ \t]*(?:\r?\n)?/.exec(text.slice(end)) ?? []
  const endsLine = rest.endsWith('\n')
  if (endsLine && text.slice(from, start).trim() === '')
    return text.slice(0, from) + text.slice(end + rest.length)
  return text.slice(0, start) + text.slice(endsLine ? end : end + rest.length)
}

function lineIndent(text: string, offset: number): string {
  const [indent = ''] = /^[ \t]*/.exec(text.slice(text.lastIndexOf('\n', offset - 1) + 1)) ?? []
  return indent
}

const blanksAndComments = /^(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/

function commaAfter(text: string, offset: number): number | undefined {
  const [skipped = ''] = blanksAndComments.exec(text.slice(offset)) ?? []
  const at = offset + skipped.length
  return text[at] === ',' ? at : undefined
}

/** Returns the offset behind a comment on the same line. */
function endOfLine(text: string, offset: number): number {
  const [comment = ''] = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(offset)) ?? []
  return offset + comment.length
}
