// The tool that runs a program, or a line of the shell.

import { runInSession } from './run-call.js'
import { runToolResult } from './run-result.js'
import type { SandboxTool } from './sandbox-tool.js'
import { objectSchema, runResult, runSchema, sessionHint } from './schemas.js'

const name = 'execute_command'

export const executeCommand: SandboxTool = {
  name,
  describe: (settings) => ({
    name,
    description: `Execute a command in a sandbox with automatic session management. ${sessionHint(settings)}`,
    inputSchema: objectSchema(
      {
        command: { type: 'string', description: 'Command to execute' },
        args: { type: 'array', items: { type: 'string' }, description: 'Optional command arguments' },
        ...runSchema(settings),
      },
      ['command'],
    ),
    outputSchema: objectSchema(
      {
        ...runResult,
        command: { type: 'string' },
        args: { type: 'array', items: { type: 'string' } },
        exit_code: { type: 'integer' },
      },
      ['session_id', 'execution_time_ms', 'session_created', 'command', 'args', 'exit_code'],
    ),
  }),
  call: async (call) => {
    const command = call.args.text('command')
    const args = call.args.texts('args')
    // Without arguments it is a line for the shell, of one program or of many.
    const [program, given] = args === undefined ? ['sh', ['-c', command]] : [command, args]
    const ran = await runInSession(call, (session, terms) => session.runCommand(program, given, terms))
    const { exitCode, isSuccess } = ran.result
    return runToolResult(ran, call, { command, args: args ?? [], exit_code: exitCode }, !isSuccess)
  },
}
