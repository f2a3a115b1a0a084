// A server whose schemas are closed and say what comes out, and whose tools put right what comes in: zod's coercion
// and defaults, and what the Python SDK reads out of texts. `screenshot` has the schema of a browser server.

import { serve, text } from './serve.mjs'

const closed = (properties, required) => ({
  type: 'object',
  properties,
  required,
  additionalProperties: false,
})

const tools = {
  screenshot: {
    schema: closed(
      {
        type: { type: 'string', enum: ['png', 'jpeg'], default: 'png' },
        filename: { type: 'string' },
        fullPage: { type: 'boolean' },
      },
      ['type'],
    ),
    read: ({ type = 'png', fullPage }) => ({ type: oneOf(type, 'png', 'jpeg'), fullPage: boolean(fullPage) }),
  },
  wait: {
    schema: closed({ seconds: { type: 'integer', minimum: 1, maximum: 5 }, quiet: { type: 'boolean' } }, [
      'seconds',
    ]),
    read: ({ seconds, quiet }) => ({ seconds: integer(seconds, 1, 5), quiet: boolean(quiet) }),
  },
  tag: {
    schema: closed(
      {
        id: { anyOf: [{ type: 'integer' }, { type: 'null' }], default: null },
        tags: { type: 'array', items: { type: 'string' }, minItems: 1 },
        style: closed({ size: { type: 'number' } }, ['size']),
      },
      ['tags'],
    ),
    read: ({ id = null, tags, style }) => ({
      id: id === null || id === 'null' ? null : integer(id, -Infinity, Infinity),
      tags: list(tags),
      style: style === undefined || style === null ? null : { size: number(json(style).size) },
    }),
  },
  /** Says the bytes that came. */
  raw: {
    schema: closed({ n: { type: 'number' } }, []),
    read: (_, line) => line.slice(line.indexOf('"arguments":')),
  },
}

const wrong = (what) => {
  throw { code: -32602, message: `Invalid arguments: ${what}` }
}
const json = (value) => (typeof value === 'string' && /^\s*[[{]/.test(value) ? JSON.parse(value) : value)
const oneOf = (value, ...all) => (all.includes(value) ? value : wrong('not one of them'))
const list = (value) => {
  const items = json(value)
  return Array.isArray(items) && items.length > 0 ? items.map(String) : wrong('no list')
}
const boolean = (value) => {
  if (value === undefined || value === null) return false
  return (
    ['true', '1', 'yes'].includes(String(value).toLowerCase()) ||
    (oneOf(String(value).toLowerCase(), 'false', '0', 'no') && false)
  )
}
const number = (value) => {
  const read = typeof value === 'string' && value.trim() === '' ? NaN : Number(value ?? NaN)
  return Number.isFinite(read) ? read : wrong('no number')
}
const integer = (value, least, most) => {
  const read = number(value)
  return Number.isInteger(read) && read >= least && read <= most ? read : wrong('not such an integer')
}

serve({
  name: 'tolerant',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: Object.entries(tools).map(([name, { schema }]) => ({ name, inputSchema: schema })),
    }),
    'tools/call': ({ name, arguments: args }, { line }) =>
      text(JSON.stringify(tools[name].read(args ?? {}, line))),
  },
})
