// What came of code or a command, as the result of a tool.

import type { Artifact } from './artifacts.js'
import { mimeTypeOf, resourceUri } from './resources.js'
import type { SandboxSession } from './sandbox-session.js'
import { type MachineUse, readAll } from './small-run.js'
import type { ContentBlock, Ran, ToolCall, ToolResult } from './tools.js'

/** An image up to here stands in the result itself. */
const IMAGE_BYTES_MAX = 128 * 1024

/** Those that clients show. */
const SHOWN_TYPES = new Set(['image/png', 'image/jpeg', 'image/svg+xml'])

/** `own` are the members of the tool itself. */
export async function runToolResult(
  { session, isCreated, ms, result }: Ran,
  call: ToolCall,
  own: Readonly<Record<string, unknown>>,
): Promise<ToolResult> {
  const { stdout, stderr, isCut, isRestarted, artifacts } = result
  const { id } = session.facts
  const text = [stdout, stderr].filter((each) => each !== '').join(stdout.endsWith('\n') ? '' : '\n')
  const facts = {
    session_id: id,
    execution_time_ms: Math.round(ms),
    session_created: isCreated,
    ...own,
    truncated: isCut,
    sandbox_restarted: isRestarted,
    artifacts: artifacts.map(({ path, bytes }) => {
      return { uri: resourceUri(id, path), path, size: bytes, mime_type: mimeTypeOf(path) }
    }),
    ...(call.isolation === 'none' && { isolation: 'none' }),
  }
  const content = [
    { type: 'text' as const, text },
    ...(await blocksOf(artifacts, session, call)),
    // Many models see nothing but the content.
    { type: 'text' as const, text: `[session_id: ${id}]` },
  ]
  return { content, isError: !result.isSuccess, facts, shown: { stdout, stderr } }
}

async function blocksOf(
  artifacts: readonly Artifact[],
  session: SandboxSession,
  { settings, signal }: ToolCall,
): Promise<ContentBlock[]> {
  if (!settings.files) return []
  const links = artifacts.map(({ path, bytes }) => linkTo(session, path, bytes))
  const images = artifacts.filter(
    ({ path, bytes }) => bytes <= IMAGE_BYTES_MAX && SHOWN_TYPES.has(mimeTypeOf(path)),
  )
  if (images.length === 0) return links
  const shown = await session.useMachine(signal, (where) =>
    Promise.all(images.map(({ path }) => imageOf(where, path))),
  )
  return [...links, ...(shown ?? []).flat()]
}

function linkTo({ facts: { id } }: SandboxSession, path: string, size: number): ContentBlock {
  const name = path.slice(path.lastIndexOf('/') + 1)
  return { type: 'resource_link', uri: resourceUri(id, path), name, mimeType: mimeTypeOf(path), size }
}

async function imageOf(where: MachineUse, path: string): Promise<ContentBlock[]> {
  const read = await readAll(where, ['cat', '--', path], IMAGE_BYTES_MAX)
  if (read.kind !== 'read') return []
  return [{ type: 'image', data: read.bytes.toString('base64'), mimeType: mimeTypeOf(path) }]
}
