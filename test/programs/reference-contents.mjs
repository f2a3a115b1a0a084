// The contents of the reference server: the tools, prompts and resources that the scenarios of
// `@modelcontextprotocol/conformance` ask for by name, with the contents that they describe.
//
// A tool gets its arguments and the call: `tell` and `ask` of the client, `progress`, `log`.

import { setTimeout as sleep } from 'node:timers/promises'
import { questionPrompts, questionTools } from './reference-questions.mjs'

/** One red pixel, and the shortest sound: a header without samples. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA='

const text = (value) => ({ type: 'text', text: value })
const image = { type: 'image', data: png, mimeType: 'image/png' }
const audio = { type: 'audio', data: wav, mimeType: 'audio/wav' }
const embedded = (uri, mimeType, value) => ({ type: 'resource', resource: { uri, mimeType, text: value } })
const says = (...content) => ({ content })
const fails = (why) => ({ content: [text(why)], isError: true })

const form = (properties, required = []) => ({ type: 'object', properties, required })
const titled = (prefix, nouns, what) =>
  nouns.map((noun, at) => ({ const: `${prefix}${at + 1}`, title: `${noun} ${what}` }))
const ordinals = ['First', 'Second', 'Third']
const options = ['option1', 'option2', 'option3']

/** A form with a default for every kind of field (SEP-1034). */
const defaults = form({
  name: { type: 'string', description: 'Name', default: 'John Doe' },
  age: { type: 'integer', description: 'Age', default: 30 },
  score: { type: 'number', description: 'Score', default: 95.5 },
  status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
  verified: { type: 'boolean', description: 'Verified', default: true },
})

/** A form with every kind of choice (SEP-1330). */
const choices = form({
  untitledSingle: { type: 'string', enum: options },
  titledSingle: { type: 'string', oneOf: titled('value', ordinals, 'Option') },
  legacyEnum: {
    type: 'string',
    enum: ['opt1', 'opt2', 'opt3'],
    enumNames: ['Option One', 'Option Two', 'Option Three'],
  },
  untitledMulti: { type: 'array', items: { type: 'string', enum: options } },
  titledMulti: { type: 'array', items: { anyOf: titled('value', ordinals, 'Choice') } },
})

/** A schema with what revision 2025-11-25 allows in one (SEP-1613), and further keywords of 2020-12 (SEP-2106). */
const schema2020 = {
  $schema: 'https://json-schema.org/draft/2020-12/schema',
  type: 'object',
  $defs: {
    address: {
      $anchor: 'addressDef',
      type: 'object',
      properties: { street: { type: 'string' }, city: { type: 'string' } },
    },
  },
  properties: {
    name: { type: 'string' },
    address: { $ref: '#/$defs/address' },
    contactMethod: { type: 'string', enum: ['phone', 'email'] },
    phone: { type: 'string' },
    email: { type: 'string' },
  },
  allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
  if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
  // oxlint-disable-next-line unicorn/no-thenable -- `then` is a keyword of JSON Schema.
  then: { required: ['phone'] },
  else: { required: ['email'] },
  additionalProperties: false,
}

/** Asks, and gives what `worded` makes of the answer; a client that refuses makes the tool fail. */
async function asking({ ask }, method, params, worded) {
  const { result, error } = await ask(method, params)
  return error === undefined ? says(text(worded(result))) : fails(`${method}: ${error.message}`)
}

const eliciting = (call, message, requestedSchema, start) =>
  asking(
    call,
    'elicitation/create',
    { message, requestedSchema },
    ({ action, content }) => `${start}: action=${action}, content=${JSON.stringify(content ?? {})}`,
  )

const plain = form({})

const tools = {
  test_simple_text: [plain, () => says(text('This is a simple text response for testing.'))],
  test_image_content: [plain, () => says(image)],
  test_audio_content: [plain, () => says(audio)],
  test_embedded_resource: [
    plain,
    () => says(embedded('test://embedded-resource', 'text/plain', 'This is an embedded resource content.')),
  ],
  test_multiple_content_types: [
    plain,
    () =>
      says(
        text('Multiple content types test:'),
        image,
        embedded('test://mixed-content-resource', 'application/json', '{"test":"data","value":123}'),
      ),
  ],
  test_tool_with_logging: [
    plain,
    async (_, { log }) => {
      log('info', 'Tool execution started')
      await sleep(50)
      log('info', 'Tool processing data')
      await sleep(50)
      log('info', 'Tool execution completed')
      return says(text('Tool with logging executed'))
    },
  ],
  test_tool_with_progress: [
    plain,
    async (_, { progress }) => {
      progress(0, 100)
      await sleep(50)
      progress(50, 100)
      await sleep(50)
      progress(100, 100)
      return says(text('Tool with progress executed'))
    },
  ],
  test_error_handling: [plain, () => fails('This tool intentionally returns an error for testing')],
  test_sampling: [
    form({ prompt: { type: 'string', description: 'The prompt to send to the LLM' } }, ['prompt']),
    ({ prompt }, call) => {
      const params = { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 }
      return asking(
        call,
        'sampling/createMessage',
        params,
        ({ content }) => `LLM response: ${content.text ?? ''}`,
      )
    },
  ],
  test_elicitation: [
    form({ message: { type: 'string', description: 'The message to show the user' } }, ['message']),
    ({ message }, call) => {
      const username = { type: 'string', description: "User's response" }
      const email = { type: 'string', description: "User's email address" }
      return eliciting(call, message, form({ username, email }, ['username', 'email']), 'User response')
    },
  ],
  test_elicitation_sep1034_defaults: [
    plain,
    (_, call) => eliciting(call, 'Please review and update the form', defaults, 'Elicitation completed'),
  ],
  test_elicitation_sep1330_enums: [
    plain,
    (_, call) => eliciting(call, 'Please choose', choices, 'Elicitation completed'),
  ],
  /** Used by tests of this repository only. */
  test_roots: [
    plain,
    (_, call) =>
      asking(call, 'roots/list', undefined, ({ roots }) => `Roots: ${roots.map(({ uri }) => uri).join(' ')}`),
  ],
  ...questionTools,
  test_trigger_tool_change: [plain, (_, call) => changed(call, 'tools', toolList)],
  test_trigger_prompt_change: [plain, (_, call) => changed(call, 'prompts', promptList)],
  json_schema_2020_12_tool: [schema2020, (args) => says(text(JSON.stringify(args)))],
}

const said = (...contents) => ({ messages: contents.map((content) => ({ role: 'user', content })) })
const needed = (name, description) => ({ name, description, required: true })

const prompts = {
  test_simple_prompt: [[], () => said(text('This is a simple prompt for testing.'))],
  test_prompt_with_arguments: [
    [needed('arg1', 'First test argument'), needed('arg2', 'Second test argument')],
    ({ arg1, arg2 }) => said(text(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`)),
  ],
  test_prompt_with_embedded_resource: [
    [needed('resourceUri', 'URI of the resource to embed')],
    ({ resourceUri }) =>
      said(
        embedded(resourceUri, 'text/plain', 'Embedded resource content for testing.'),
        text('Please process the embedded resource above.'),
      ),
  ],
  ...questionPrompts,
  test_prompt_with_image: [[], () => said(image, text('Please analyze the image above.'))],
}

const resources = [
  ['test://static-text', 'text/plain', { text: 'This is the content of the static text resource.' }],
  ['test://static-binary', 'image/png', { blob: png }],
  ['test://watched-resource', 'text/plain', { text: 'Watched resource content' }],
]

const described = (name) => `Conformance: ${name.replaceAll('_', ' ')}`

const toolList = Object.entries(tools).map(([name, [inputSchema]]) => ({
  name,
  description: described(name),
  inputSchema,
}))

const promptList = Object.entries(prompts).map(([name, [args]]) => ({
  name,
  description: described(name),
  ...(args.length > 0 && { arguments: args }),
}))

const resourceList = resources.map(([uri, mimeType]) => ({
  uri,
  name: uri.slice('test://'.length),
  description: described(uri),
  mimeType,
}))

const templateList = [
  {
    uriTemplate: 'test://template/{id}/data',
    name: 'template',
    description: described('a resource for each id'),
    mimeType: 'application/json',
  },
]

/** Adds an item to a list, or removes it again, and notifies the client. */
function changed(call, kind, list) {
  const name = `test_changed_${kind}`
  if (list.at(-1).name === name) list.pop()
  else list.push({ name, description: described(name), ...(kind === 'tools' && { inputSchema: plain }) })
  call.tell(`notifications/${kind}/list_changed`)
  return says(text(`the ${kind} have changed`))
}

function resourceAt(uri) {
  const found = resources.find(([own]) => own === uri)
  if (found !== undefined) return { contents: [{ uri, mimeType: found[1], ...found[2] }] }
  const id = /^test:\/\/template\/([^/]+)\/data$/.exec(uri)?.[1]
  if (id === undefined) return undefined
  const value = JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` })
  return { contents: [{ uri, mimeType: 'application/json', text: value }] }
}

/**
 * The requests for the contents. `run` calls the function of a tool or a prompt with the params and what it can ask;
 * lists and resources carry `hints`.
 */
export const contentRequests = (run, notFoundCode, hints = {}) => ({
  'tools/list': () => ({ tools: toolList, ...hints }),
  'tools/call': (params, request) => {
    const tool = tools[params.name]?.[1]
    if (tool === undefined) throw { code: -32602, message: `Unknown tool: ${params.name}` }
    return run(tool, params, request)
  },
  'prompts/list': () => ({ prompts: promptList, ...hints }),
  'prompts/get': (params, request) => {
    const prompt = prompts[params.name]?.[1]
    if (prompt === undefined) throw { code: -32602, message: `Unknown prompt: ${params.name}` }
    return run(prompt, params, request)
  },
  'resources/list': () => ({ resources: resourceList, ...hints }),
  'resources/templates/list': () => ({ resourceTemplates: templateList, ...hints }),
  'resources/read': ({ uri }) => {
    const found = resourceAt(uri)
    if (found === undefined) throw { code: notFoundCode, message: 'Resource not found', data: { uri } }
    return { ...found, ...hints }
  },
  'completion/complete': ({ argument: { value } }) => {
    const values = ['paris', 'park', 'party', 'testing'].filter((word) => word.startsWith(value))
    return { completion: { values, total: values.length, hasMore: false } }
  },
})
