// A program behind walls: it is started by `sandbox.js exec`, which confines it.

import { join } from 'node:path'
import process from 'node:process'
import { programFolder } from '../../folder.js'
import { write } from '../../jsonrpc/text.js'
import type { StdioServerConfig } from '../contracts/server-config.js'

/** The same server, with the command that confines it where it has a sandbox. */
export function confined(config: StdioServerConfig): StdioServerConfig {
  const { sandbox, command, args, cwd } = config
  if (sandbox === undefined) return config
  const policy = write({ ...sandbox, cwd })
  const program = join(programFolder, 'sandbox.js')
  return {
    ...config,
    command: process.execPath,
    args: [program, 'exec', '--policy', policy, '--', command, ...args],
  }
}
