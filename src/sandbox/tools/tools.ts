// The tools that there are, in the order in which they are listed.

import type { SandboxSettings } from '../../upstream/contracts/sandbox-config.js'
import { executeCode } from './execute-code.js'
import { executeCommand } from './execute-command.js'
import { getSessions } from './get-sessions.js'
import { getVolumePath } from './get-volume-path.js'
import { listFilesTool } from './list-files.js'
import { readFileTool } from './read-file.js'
import type { SandboxTool } from './sandbox-tool.js'
import { stopSession } from './stop-session.js'
import { writeFileTool } from './write-file.js'

export function toolsOf({ files }: SandboxSettings): readonly SandboxTool[] {
  return [
    executeCode,
    executeCommand,
    getSessions,
    stopSession,
    getVolumePath,
    ...(files ? [readFileTool, writeFileTool, listFilesTool] : []),
  ]
}

/** What a tool was called before; such a name is not listed. */
const olderNames: ReadonlyMap<string, string> = new Map([['get_volume_mappings', 'get_volume_path']])

/** The tool of that name, or of that older name. */
export function toolNamed(name: string, tools: readonly SandboxTool[]): SandboxTool | undefined {
  const own = olderNames.get(name) ?? name
  return tools.find((tool) => tool.name === own)
}
