// The program `sandbox.js`: an MCP server on stdin and stdout whose tools run code in isolated sessions.

import { runProgram } from './sandbox/program.js'

process.exit(await runProgram(process.argv.slice(2)))
