// Changes of JSON with comments that touch nothing but the one member: what stands around it stays byte for byte.
//
// `modify` of jsonc-parser also formats the lines beside a member and takes the comments before it away.

import { type JSONPath, type Node, findNodeAtLocation, parseTree } from 'jsonc-parser'

export interface JsonForm {
  readonly indent: string
  readonly eol: string
}

function formOf(text: string): JsonForm {
  const [, indent = '  '] = /^([ \t]+)\S/m.exec(text) ?? []
  return { indent, eol: text.includes('\r\n') ? '\r\n' : '\n' }
}

function replaceValue(text: string, path: JSONPath, value: unknown): string {
  const node = nodeAt(text, path)
  return node === undefined
    ? text
    : spliced(text, node.offset, node.length, valueText(text, value, lineIndent(text, node.offset)))
}

/** Gives the text with this value of a member, which is added where it is not there. */
export function setMember(text: string, path: JSONPath, name: string, value: unknown): string {
  return nodeAt(text, [...path, name]) === undefined
    ? addMember(text, path, name, value)
    : replaceValue(text, [...path, name], value)
}

/** Gives the text with one member more at the end of an object; an object that is not there is made, and another value in its place stays. */
export function addMember(text: string, path: JSONPath, name: string, value: unknown): string {
  const owner = nodeAt(text, path)
  if (owner === undefined) {
    const [last] = path.slice(-1)
    return last === undefined ? text : addMember(text, path.slice(0, -1), String(last), { [name]: value })
  }
  if (owner.type !== 'object') return text
  return appended(text, owner, (around) => memberText(text, name, value, around))
}

export function addItem(text: string, path: JSONPath, value: unknown): string {
  const owner = nodeAt(text, path)
  return owner === undefined ? text : appended(text, owner, (around) => valueText(text, value, around))
}

/** `newText` gives what is added, on lines of this indentation or on one line. */
function appended(text: string, owner: Node, newText: (around: string | undefined) => string): string {
  const { indent, eol } = formOf(text)
  const end = owner.offset + owner.length - 1
  const last = owner.children?.at(-1)
  if (last === undefined) {
    const around = lineIndent(text, owner.offset)
    const inner = `${eol}${around}${indent}${newText(around + indent)}${eol}${around}`
    // Comments stay, such as those about members that an editor has removed.
    const place = text.slice(0, end).trimEnd().length
    return spliced(text, place, end - place, inner)
  }
  const after = last.offset + last.length
  const comma = commaAfter(text, after)
  const isBelow = startsLine(text, last.offset)
  const behind = comma === undefined ? after : comma + 1
  // A comment may end the line, and with it everything that stands behind it there.
  const place = isBelow ? endOfLine(text, behind) : behind
  const around = lineIndent(text, last.offset)
  const gap = isBelow ? eol + around : ' '
  const added = gap + newText(isBelow ? around : undefined) + (comma === undefined ? '' : ',')
  const withMember = spliced(text, place, 0, added)
  return comma === undefined ? spliced(withMember, after, 0, ',') : withMember
}

/** Gives the text without a member, or an item of a list; the line that it leaves empty goes too. */
export function removeMember(text: string, path: JSONPath): string {
  const node = nodeAt(text, path)
  const member = node?.parent?.type === 'property' ? node.parent : node
  const siblings = member?.parent?.children
  if (member === undefined || siblings === undefined) return text
  const end = member.offset + member.length
  const comma = commaAfter(text, end)
  const before = siblings[siblings.indexOf(member) - 1]
  const without = withoutLine(text, member.offset, comma === undefined ? end : comma + 1)
  // The comma in front of the last member would separate it from nothing.
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

function memberText(text: string, name: string, value: unknown, around: string | undefined): string {
  return `${JSON.stringify(name)}: ${valueText(text, value, around)}`
}

/** On separate lines below this indentation; on one line without one. */
function valueText(text: string, value: unknown, around: string | undefined): string {
  const { indent, eol } = formOf(text)
  if (around === undefined || typeof value !== 'object') return JSON.stringify(value)
  return JSON.stringify(value, undefined, indent).replaceAll('\n', eol + around)
}

/** Takes a range out, and its line where nothing else is on it; else the blanks behind it. */
function withoutLine(text: string, start: number, end: number): string {
  const from = text.lastIndexOf('\n', start - 1) + 1
  const [rest = ''] = /^[ \t]*(?:\r?\n)?/.exec(text.slice(end)) ?? []
  if (text.slice(from, start).trim() === '' && rest.endsWith('\n'))
    return spliced(text, from, end + rest.length - from, '')
  return spliced(
    text,
    start,
    end + rest.trimEnd().length - start + (rest.endsWith('\n') ? 0 : rest.length),
    '',
  )
}

function startsLine(text: string, offset: number): boolean {
  return text.slice(text.lastIndexOf('\n', offset - 1) + 1, offset).trim() === ''
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

/** Behind the comment that stands on the same line. */
function endOfLine(text: string, offset: number): number {
  const [comment = ''] = /^[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/)/.exec(text.slice(offset)) ?? []
  return offset + comment.length
}
