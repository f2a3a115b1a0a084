// A server of revision 2026-07-28 that asks its client in rounds, in every way that the revision has, and in some that
// it has not.

import { describe, hints, refused, serve, text, tool } from './typed-serve.mjs'

const form = (message) => ({
  method: 'elicitation/create',
  params: {
    mode: 'form',
    message,
    requestedSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
})
const asks = (inputRequests, requestState) => ({
  resultType: 'input_required',
  ...(inputRequests && { inputRequests }),
  ...(requestState !== undefined && { requestState }),
})

/** The answer under this name; undefined without one. */
function answered(answers, name) {
  const answer = answers?.[name]
  if (answer === undefined) return undefined
  if (typeof answer?.action !== 'string')
    throw refused(-32602, `inputResponses.${name} is no answer to a form`)
  return answer.action === 'accept' ? answer.content.name : answer.action
}

/** How often each tool was called. */
const counts = {}

const calls = {
  /** Wants to be asked again, and nothing else. */
  stateOnly: ({ requestState }) =>
    requestState === undefined ? asks(undefined, 'later "é"') : text(`again with ${requestState}`),
  /** Knows all that it needs from the answer. */
  noState: ({ inputResponses, requestState }) => {
    const who = answered(inputResponses, 'who')
    return who === undefined ? asks({ who: form('Who?') }) : text(`${who}, state ${requestState}`)
  },
  twoRounds: ({ inputResponses, requestState }) => {
    const names = Object.keys(inputResponses ?? {}).join(' ')
    if (requestState === undefined) return asks({ first: form('First?') }, 'one')
    if (requestState === 'one')
      return asks({ second: form('Second?') }, `two ${answered(inputResponses, 'first')}`)
    return text(`${requestState}, ${answered(inputResponses, 'second')}; answers to ${names}`)
  },
  /** Asks again for what is missing. */
  both: ({ inputResponses, requestState = '{}' }) => {
    const known = JSON.parse(requestState)
    for (const name of ['a', 'b']) known[name] ??= answered(inputResponses, name)
    const missing = ['a', 'b'].filter((name) => known[name] === undefined)
    if (missing.length === 0) return text(`${known.a} and ${known.b}`)
    return asks(Object.fromEntries(missing.map((name) => [name, form(`${name}?`)])), JSON.stringify(known))
  },
  /** Does not take its own state for long. */
  expires: ({ requestState }) => {
    if (requestState === undefined) return asks({ who: form('Who?') }, 'old')
    throw refused(-32602, 'the requestState has expired')
  },
  /** Breaks its revision. */
  nothing: () => asks(undefined, undefined),
  sampling: ({ inputResponses }) => {
    const params = { messages: [{ role: 'user', content: { type: 'text', text: 'Say.' } }], maxTokens: 9 }
    if (inputResponses === undefined) return asks({ said: { method: 'sampling/createMessage', params } })
    return text(inputResponses.said.content.text)
  },
  endless: ({ requestState = '0' }) => asks({ who: form('Again?') }, String(Number(requestState) + 1)),
  counts: () => text(JSON.stringify(counts)),
}

serve({
  'server/discover': () => describe({ tools: {}, prompts: {}, resources: {} }),
  'tools/list': () => ({ tools: Object.keys(calls).map((name) => tool(name)), ...hints }),
  'tools/call': (params) => {
    counts[params.name] = (counts[params.name] ?? 0) + 1
    return calls[params.name](params)
  },
  'prompts/list': () => ({ prompts: [{ name: 'greet' }], ...hints }),
  'prompts/get': ({ inputResponses }) => {
    const who = answered(inputResponses, 'who')
    if (who === undefined) return asks({ who: form('Who?') }, 'p')
    return { messages: [{ role: 'user', content: { type: 'text', text: `Hello ${who}` } }] }
  },
  'resources/list': () => ({ resources: [{ name: 'a', uri: 'rounds:///a' }], ...hints }),
  'resources/templates/list': () => ({ resourceTemplates: [], ...hints }),
  'resources/read': ({ uri, inputResponses }) => {
    const who = answered(inputResponses, 'who')
    if (who === undefined) return asks({ who: form('Who?') }, 'r')
    return { contents: [{ uri, text: `for ${who}` }], ...hints }
  },
})
