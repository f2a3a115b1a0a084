import type { CallEvent } from '../../../src/index.js'

/** An answered call of tool `a` of server `s`, with these members replaced. */
export function callEvent(members: Partial<CallEvent> = {}): CallEvent {
  return {
    schema: 'default',
    client: 1,
    clientName: 'it',
    principal: undefined,
    view: undefined,
    transport: 'stdio',
    revision: '2025-11-25',
    method: 'tools/call',
    name: 'a',
    server: 's',
    item: 'a',
    isAsked: false,
    outcome: 'answered',
    ms: 7,
    serverMs: 5,
    argumentBytes: 2,
    resultBytes: 2,
    isToolError: false,
    trace: undefined,
    traceId: undefined,
    isConfirmed: false,
    address: undefined,
    bytes: () => Buffer.from('{}'),
    ...members,
  }
}
