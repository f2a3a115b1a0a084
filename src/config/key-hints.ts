// Keys of other programs and of other places in the file, with what to write in their place.

/** Without these a program would run with more rights than the file asks for, so that the start is refused. */
export const refusedKeys: ReadonlyMap<string, string> = new Map([
  ['sandboxEnabled', 'write "sandbox": { … } in the server, or take it out'],
  ['allowRead', 'write "read"'],
  ['allowWrite', 'write "write"'],
])

/** Keys of the whole file that stand elsewhere by mistake, and keys of servers in the files of other clients. */
export const keyHints: ReadonlyMap<string, string> = new Map([
  ...['mcpServers', 'schemas', 'profiles', 'limits', 'audit', 'logging', 'inputs', 'processesMax'].map(
    (key) => [key, 'it belongs at the top level of the file'] as const,
  ),
  ['includeTools', 'write "tools": { "allow": […] }'],
  ...['excludeTools', 'disabledTools'].map((key) => [key, 'write "tools": { "deny": […] }'] as const),
  ...['trust', 'alwaysAllow', 'autoApprove', 'alwaysLoad'].map(
    (key) => [key, 'clients decide that for themselves, so take it out'] as const,
  ),
])
