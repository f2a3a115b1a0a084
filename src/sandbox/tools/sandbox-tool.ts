// What a tool of the sandbox is, and what it works with.

import type { LogSink, Runtime } from '../../runtime/runtime.js'
import type { SandboxSettings } from '../../upstream/contracts/sandbox-config.js'
import type { Arguments } from '../arguments.js'
import type { SandboxIsolation } from '../runtime.js'
import type { Sessions } from '../sessions.js'
import type { Turns } from '../turns.js'

/** A JSON Schema. */
export type ToolSchema = Readonly<Record<string, unknown>>

/** As `tools/list` shows it. */
export interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly inputSchema: ToolSchema
  readonly outputSchema: ToolSchema
}

/** One block of content (MCP, Tool result). */
export type ContentBlock =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image'; readonly data: string; readonly mimeType: string }
  | {
      readonly type: 'resource_link'
      readonly uri: string
      readonly name: string
      readonly mimeType: string
      readonly size: number
    }

/** What a tool has to say. */
export interface ToolResult {
  readonly content: readonly ContentBlock[]
  readonly isError: boolean
  /** Stand at the top of the result and in `structuredContent`. */
  readonly facts: Readonly<Record<string, unknown>>
  /** Stand in `structuredContent` alone, for clients that show nothing else. */
  readonly shown?: Readonly<Record<string, unknown>>
}

/** What all calls of a service have in common. */
export interface ToolAround {
  readonly settings: SandboxSettings
  readonly sessions: Sessions
  readonly runtime: Runtime
  readonly isolation: SandboxIsolation
  /** Of all sessions together. */
  readonly largeReads: Turns
  readonly log: LogSink
}

/** One call. */
export interface ToolCall extends ToolAround {
  readonly args: Arguments
  /** Whose sessions it may use. */
  readonly owner: string
  readonly signal: AbortSignal
  /** Hears of output while it comes, where the client wants to know. */
  readonly heard: ((chunk: Buffer) => void) | undefined
}

/** A tool; `describe` depends on the configuration. */
export interface SandboxTool {
  readonly name: string
  describe(settings: SandboxSettings): ToolDescription
  /** @throws SandboxError */
  call(call: ToolCall): Promise<ToolResult>
}
