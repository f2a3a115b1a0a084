// The tools and prompts of the scenarios of revision 2026-07-28. A server of an older revision asks during the call,
// also without a declaration of its client, and the proxy makes rounds of it; the keys are for a server that makes them itself.

const text = (value) => ({ type: 'text', text: value })
const says = (value) => ({ content: [text(value)] })
const form = (properties) => ({ type: 'object', properties, required: Object.keys(properties) })
const plain = { type: 'object', properties: {} }

const elicit = (call, key, message, properties) =>
  call.ask('elicitation/create', { message, requestedSchema: form(properties) }, key)
const sample = (call, key, prompt) => {
  const params = { messages: [{ role: 'user', content: text(prompt) }], maxTokens: 100 }
  return call.ask('sampling/createMessage', params, key)
}
const askRoots = (call) => call.ask('roots/list', {}, 'client_roots')

const nameOf = ({ result }) => result?.content?.name ?? 'nobody'
const askName = (call) => elicit(call, 'user_name', 'What is your name?', { name: { type: 'string' } })
const hello = async (_, call) => says(`Hello, ${nameOf(await askName(call))}!`)

const failing = ({ error }) => {
  if (error !== undefined) throw { code: -32603, message: `It was not answered: ${error.message}` }
}

const confirmed = async (_, call) => {
  const { result } = await elicit(call, 'confirm', 'Please confirm', { ok: { type: 'boolean' } })
  return says(result?.action === 'accept' ? 'state-ok' : 'not confirmed')
}

/** Name -> what runs it. */
const questions = {
  test_input_required_result_elicitation: hello,
  test_input_required_result_sampling: async (_, call) =>
    says(
      JSON.stringify(
        (await sample(call, 'capital_question', 'What is the capital of France?')).result?.content,
      ),
    ),
  test_input_required_result_list_roots: async (_, call) =>
    says(JSON.stringify((await askRoots(call)).result?.roots)),
  test_input_required_result_request_state: confirmed,
  test_input_required_result_tampered_state: confirmed,
  test_input_required_result_multiple_inputs: async (_, call) => {
    const answers = await Promise.all([
      askName(call),
      sample(call, 'greeting', 'Generate a greeting'),
      askRoots(call),
    ])
    return says(JSON.stringify(answers.map(({ result }) => result)))
  },
  test_input_required_result_multi_round: async (_, call) => {
    const name = nameOf(
      await elicit(call, 'step1', 'Step 1: What is your name?', { name: { type: 'string' } }),
    )
    const color = await elicit(call, 'step2', 'Step 2: What is your favorite color?', {
      color: { type: 'string' },
    })
    return says(`${name} likes ${color.result?.content?.color}`)
  },
  test_input_required_result_capabilities: async (_, call) => {
    // A server that knows the capabilities of its client asks for these only.
    const asked = [
      ['elicitation', () => askName(call)],
      ['sampling', () => sample(call, 'words', 'Say something')],
    ].filter(([capability]) => call.declares?.(capability) ?? true)
    const answers = await Promise.all(asked.map(([, ask]) => ask()))
    return says(JSON.stringify(answers.map(({ result }) => result)))
  },
  test_missing_capability: async (_, call) => {
    const answer = await sample(call, 'hello', 'Hello?')
    failing(answer)
    return says('sampled')
  },
  test_streaming_elicitation: hello,
  test_logging_tool: (_, call) => {
    for (const level of ['debug', 'info', 'error']) call.log(level, `a message of level ${level}`)
    return says('logged')
  },
}

export const questionTools = Object.fromEntries(
  Object.entries(questions).map(([name, run]) => [name, [plain, run]]),
)

export const questionPrompts = {
  test_input_required_result_prompt: [
    [],
    async (_, call) => {
      const { result } = await elicit(call, 'user_context', 'What context should the prompt use?', {
        context: { type: 'string' },
      })
      return { messages: [{ role: 'user', content: text(`Context: ${result?.content?.context}`) }] }
    },
  ],
}
