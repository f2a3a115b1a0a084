// What the scenarios of revision 2026-07-28 ask for by name, as a server of an older revision has it: it asks during
// the call, whatever its client has declared, and the proxy makes rounds of it.

const text = (value) => ({ type: 'text', text: value })
const says = (value) => ({ content: [text(value)] })
const form = (properties) => ({ type: 'object', properties, required: Object.keys(properties) })
const plain = { type: 'object', properties: {} }

const elicit = (call, message, properties) =>
  call.ask('elicitation/create', { message, requestedSchema: form(properties) })
const sample = (call, prompt) =>
  call.ask('sampling/createMessage', { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 })

const nameOf = ({ result }) => result?.content?.name ?? 'nobody'
const askName = (call) => elicit(call, 'What is your name?', { name: { type: 'string' } })
const hello = async (_, call) => says(`Hello, ${nameOf(await askName(call))}!`)

const failing = ({ error }) => {
  if (error !== undefined) throw { code: -32603, message: `It was not answered: ${error.message}` }
}

const confirmed = async (_, call) => {
  const { result } = await elicit(call, 'Please confirm', { ok: { type: 'boolean' } })
  return says(result?.action === 'accept' ? 'state-ok' : 'not confirmed')
}

/** Name -> what runs it. */
const questions = {
  test_input_required_result_elicitation: hello,
  test_input_required_result_sampling: async (_, call) =>
    says(JSON.stringify((await sample(call, 'What is the capital of France?')).result?.content)),
  test_input_required_result_list_roots: async (_, call) =>
    says(JSON.stringify((await call.ask('roots/list', {})).result?.roots)),
  test_input_required_result_request_state: confirmed,
  test_input_required_result_tampered_state: confirmed,
  test_input_required_result_multiple_inputs: async (_, call) => {
    const answers = await Promise.all([
      askName(call),
      sample(call, 'Generate a greeting'),
      call.ask('roots/list', {}),
    ])
    return says(JSON.stringify(answers.map(({ result }) => result)))
  },
  test_input_required_result_multi_round: async (_, call) => {
    const name = nameOf(await elicit(call, 'Step 1: What is your name?', { name: { type: 'string' } }))
    const color = await elicit(call, 'Step 2: What is your favorite color?', { color: { type: 'string' } })
    return says(`${name} likes ${color.result?.content?.color}`)
  },
  test_input_required_result_capabilities: async (_, call) => {
    const answers = await Promise.all([askName(call), sample(call, 'Say something')])
    return says(JSON.stringify(answers.map(({ result }) => result)))
  },
  test_missing_capability: async (_, call) => {
    const answer = await sample(call, 'Hello?')
    failing(answer)
    return says('sampled')
  },
  test_streaming_elicitation: hello,
  test_logging_tool: (_, call) => {
    for (const level of ['debug', 'info', 'error']) call.log(level, `a message of level ${level}`)
    return says('logged')
  },
  test_trigger_tool_change: (_, call) => {
    call.tell('notifications/tools/list_changed')
    return says('the tools have changed')
  },
  test_trigger_prompt_change: (_, call) => {
    call.tell('notifications/prompts/list_changed')
    return says('the prompts have changed')
  },
}

export const questionTools = Object.fromEntries(
  Object.entries(questions).map(([name, run]) => [name, [plain, run]]),
)

export const questionPrompts = {
  test_input_required_result_prompt: [
    [],
    async (_, call) => {
      const { result } = await elicit(call, 'What context should the prompt use?', {
        context: { type: 'string' },
      })
      return { messages: [{ role: 'user', content: text(`Context: ${result?.content?.context}`) }] }
    },
  ],
}
