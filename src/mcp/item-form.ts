// The form that the schema of MCP demands of a listed item (schema of each revision: Tool, Prompt, Resource,
// ResourceTemplate).
//
// Many clients validate a list as a whole, so one invalid item costs them the items of all servers. The proxy
// cuts a member that is null or empty where the schema has another type, because its absence means the same.
// The proxy also cuts an invalid hint. Every other fault is reported, and the caller leaves the item out.

import { OPEN_ARRAY, OPEN_OBJECT, QUOTE } from '../jsonrpc/ascii.js'
import type { Line } from '../jsonrpc/line.js'
import { itemsAt, type Member, membersAt } from '../jsonrpc/members.js'
import type { Span } from '../jsonrpc/scan.js'
import { type Edit, NO_EDITS } from '../jsonrpc/splice.js'
import { parse, rawAt, stringAt } from '../jsonrpc/text.js'
import { cutMembers } from './member-edits.js'
import type { ListKind } from './methods.js'
import type { Revision } from './revisions.js'
import { dangles } from './structured-wrap.js'

type Type = 'text' | 'list' | 'object' | 'boolean' | 'number'

/** The form of a value: its type, and the forms of its parts. */
interface Form {
  readonly type: Type
  readonly required?: readonly string[]
  readonly members?: Readonly<Record<string, Form>>
  readonly each?: Form
  readonly schemaOf?: 'object'
  /** Whether `true` and `false` are schemas (JSON Schema 2020-12, 4.3.2). Older revisions have none. */
  readonly isSchema?: boolean
  /** Whether every reference in the value must have its target within the value. */
  readonly isClosed?: boolean
  /** Checks a text or a number against the values that the schema of MCP allows. */
  readonly allows?: (value: unknown) => boolean
  /** Whether clients can do without the member, so that the proxy may cut an invalid one. */
  readonly isHint?: boolean
}

const text: Form = { type: 'text' }
const flag: Form = { type: 'boolean' }
const object: Form = { type: 'object' }
const oneOf = (...values: readonly string[]): Form => ({
  type: 'text',
  allows: (value) => values.some((each) => each === value),
})
const annotations: Form = {
  type: 'object',
  isHint: true,
  members: {
    audience: { type: 'list', each: oneOf('user', 'assistant') },
    priority: { type: 'number', allows: (value) => Number(value) >= 0 && Number(value) <= 1 },
    // ISO 8601. The official SDK accepts only a date with a time and a zone.
    lastModified: {
      type: 'text',
      allows: (value) =>
        /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d)$/.test(String(value)),
    },
  },
}
const icon: Form = {
  type: 'object',
  required: ['src'],
  members: { src: text, mimeType: text, sizes: { type: 'list', each: text }, theme: oneOf('light', 'dark') },
}
const described = {
  title: text,
  description: text,
  icons: { type: 'list', each: icon, isHint: true },
  _meta: object,
} as const
const schemaMembers = {
  properties: { type: 'object', each: { type: 'object', isSchema: true } },
  required: { type: 'list', each: text },
} as const

const outputSchema: Form = { type: 'object', members: schemaMembers, isClosed: true }
const tool: Form = {
  type: 'object',
  required: ['inputSchema'],
  members: {
    ...described,
    inputSchema: { type: 'object', members: schemaMembers, schemaOf: 'object' },
    outputSchema,
    annotations: {
      type: 'object',
      isHint: true,
      members: {
        title: text,
        readOnlyHint: flag,
        destructiveHint: flag,
        idempotentHint: flag,
        openWorldHint: flag,
      },
    },
    execution: {
      type: 'object',
      isHint: true,
      members: { taskSupport: oneOf('required', 'optional', 'forbidden') },
    },
  },
}

const forms: Readonly<Record<ListKind, Form>> = {
  tools: tool,
  prompts: {
    type: 'object',
    members: {
      ...described,
      arguments: {
        type: 'list',
        each: {
          type: 'object',
          required: ['name'],
          members: { name: text, title: text, description: text, required: flag },
        },
      },
    },
  },
  resources: {
    type: 'object',
    required: ['name'],
    members: { ...described, name: text, mimeType: text, annotations, size: { type: 'number' } },
  },
  templates: {
    type: 'object',
    required: ['name'],
    members: { ...described, name: text, mimeType: text, annotations },
  },
}

const toolWithObjects: Form = {
  ...tool,
  members: { ...tool.members, outputSchema: { ...outputSchema, schemaOf: 'object', isHint: true } },
}

/** The edits that make an item valid, or the text of its fault; `outputs` is from the server's revision. */
export function repairs(line: Line, kind: ListKind, outputs: Revision['outputs']): readonly Edit[] | string {
  const edits: Edit[] = []
  const form = kind === 'tools' && outputs === 'objects' ? toolWithObjects : forms[kind]
  const fault = check(line, { start: 0, end: line.length }, form, '', edits)
  return fault ?? (edits.length === 0 ? NO_EDITS : edits)
}

/** Adds the edits within the value to `edits`; returns the first fault that edits do not repair. */
function check(line: Line, span: Span, form: Form, path: string, edits: Edit[]): string | undefined {
  const type = typeOf(line[span.start])
  if (type === 'boolean' && form.isSchema === true) {
    const bytes = Buffer.from(rawAt(line, span) === 'true' ? '{}' : '{"not":{}}')
    edits.push({ ...span, bytes, why: 'repair' })
    return undefined
  }
  if (type !== form.type) return `'${path}' is no ${form.type}`
  if (form.allows?.(parse(rawAt(line, span))) === false) return `'${path}' is ${rawAt(line, span)}`
  if (form.type === 'list') {
    const { each } = form
    for (const item of each === undefined ? [] : itemsAt(line, span)) {
      const fault = check(line, item, each ?? form, `${path}[]`, edits)
      if (fault !== undefined) return fault
    }
    return undefined
  }
  return form.type === 'object' ? checkMembers(line, span, form, path, edits) : undefined
}

function checkMembers(line: Line, span: Span, form: Form, path: string, edits: Edit[]): string | undefined {
  const members = membersAt(line, span)
  // An object with too many members is not changed.
  if (members === undefined) return undefined
  for (const name of form.required ?? [])
    if (members.span(name) === undefined) return `'${within(path, name)}' is missing`
  if (form.schemaOf !== undefined && members.string('type') !== form.schemaOf)
    return `'${within(path, 'type')}' is not "${form.schemaOf}"`
  const all = [...members]
  const known = all.map((member) => formOf(line, member, form))
  const isCut = all.map(({ value }, at) => isToBeCut(line, value, known[at]))
  const cuts = cutMembers(all, (_member, at) => (isCut[at] === true ? 'repair' : undefined))
  for (const [at, { key, value }] of all.entries()) {
    const name = stringAt(line, key) ?? ''
    const inner = known[at]
    if (isCut[at] === true) {
      if (form.required?.includes(name) === true) return `'${within(path, name)}' is ${rawAt(line, value)}`
      continue
    }
    const fault = inner === undefined ? undefined : check(line, value, inner, within(path, name), edits)
    if (fault !== undefined) return fault
  }
  edits.push(...cuts)
  edits.sort((one, other) => one.start - other.start)
  return undefined
}

function formOf(line: Line, { key }: Member, { members, each }: Form): Form | undefined {
  if (members === undefined) return each
  const name = stringAt(line, key) ?? ''
  return Object.hasOwn(members, name) ? members[name] : undefined
}

/** Whether to cut an empty value of another type, a schema with a dangling reference, or an invalid hint. */
function isToBeCut(line: Line, value: Span, form: Form | undefined): boolean {
  if (form === undefined) return false
  const isOfType = typeOf(line[value.start]) === form.type
  if (!isOfType && /^(?:null|""|\[\s*\]|\{\s*\})$/.test(rawAt(line, value))) return true
  if (form.isHint === true && check(line, value, form, '', []) !== undefined) return true
  return isOfType && form.isClosed === true && dangles(line, value)
}

function within(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}

function typeOf(first = 0): Type | 'null' {
  return typesByFirstByte.get(first) ?? 'number'
}

const typesByFirstByte: ReadonlyMap<number, Type | 'null'> = new Map([
  [QUOTE, 'text'],
  [OPEN_ARRAY, 'list'],
  [OPEN_OBJECT, 'object'],
  [0x74, 'boolean'],
  [0x66, 'boolean'],
  [0x6e, 'null'],
])
