// The tool that runs code and keeps its variables.

import { runInSession } from './run-call.js'
import { runToolResult } from './run-result.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema, runResult, runSchema, sessionHint } from './schemas.js'

const name = 'execute_code'

export const executeCode: SandboxTool = {
  name,
  describe: (settings) => ({
    name,
    description: `Execute code in a sandbox with automatic session management. ${sessionHint(settings)}`,
    inputSchema: objectSchema(
      { code: { type: 'string', description: 'Code to execute' }, ...runSchema(settings) },
      ['code'],
    ),
    outputSchema: objectSchema(
      { ...runResult, template: { type: 'string' }, code_success: { type: 'boolean' } },
      ['session_id', 'execution_time_ms', 'session_created', 'template', 'code_success'],
    ),
  }),
  call: async (call) => {
    const code = call.args.text('code')
    const ran = await runInSession(call, (session, terms) => session.runCode(code, terms))
    const { template } = ran.session.facts
    const { isSuccess } = ran.result
    return runToolResult(ran, call, { template, code_success: isSuccess }, !isSuccess)
  },
}
