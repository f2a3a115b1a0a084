// Gives back what it was given, byte for byte: arguments as they were written in the line.

import { send, serve, text, tool } from './serve.mjs'

/** The raw text of the value behind `"name":` up to the end of the message's last two objects. */
function rawArguments(line) {
  const marker = '"arguments":'
  return line.slice(line.indexOf(marker) + marker.length, line.lastIndexOf('}}'))
}

const isExact = process.argv[2] === 'exact'

/** `node echo.mjs exact` takes arguments of the right type alone. */
function typed(given) {
  if (isExact && given === null) throw invalid('arguments', "'arguments' must be object")
  if (isExact && !Number.isInteger(given.count)) throw invalid('/count', "'count' must be integer")
  return text('accepted')
}

function invalid(parameter, message) {
  return { code: -32602, message: `Invalid params: ${message}`, data: { parameter } }
}

serve({
  name: 'echo',
  capabilities: { tools: {} },
  requests: {
    'tools/list': () => ({
      tools: [
        tool('echo', 'Gives its arguments back'),
        tool('fail', 'Answers with an error of its own'),
        {
          name: 'typed',
          title: 'A typed tool',
          description: 'Takes a count and a colour',
          inputSchema: {
            $schema: 'http://json-schema.org/draft-07/schema#',
            type: 'object',
            properties: { count: { $ref: '#/definitions/count' }, colour: { enum: ['red', 'green'] } },
            required: ['count'],
            definitions: { count: { type: 'integer', minimum: 1 } },
          },
          annotations: { readOnlyHint: true },
          'x-unknown': { kept: [1, 2] },
        },
      ],
    }),
    'tools/call': ({ name, arguments: given }, { id, line }) => {
      if (name === 'typed') return typed(given)
      const raw = rawArguments(line)
      if (name === 'fail') {
        send(
          `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"error":{"code":-32099,"message":"as \\u0061sked","data":${raw}}}`,
        )
      } else {
        send(
          `{"jsonrpc":"2.0", "id":${JSON.stringify(id)}, "result":{"content":[],"structuredContent":${raw}}}`,
        )
      }
      return undefined
    },
  },
})
