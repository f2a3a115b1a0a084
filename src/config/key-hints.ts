// Keys of other programs and of other places in the file, with what to write in their place.

/** Without these a program would run with more rights than the file asks for, so that the start is refused. */
export const refusedKeys: ReadonlyMap<string, string> = new Map([
  ['sandboxEnabled', 'write "sandbox": { … } in the server, or take it out'],
  ['allowRead', 'write "read"'],
  ['allowWrite', 'write "write"'],
])

/** Keys of the whole file that stand in `server`, in a group or in one server by mistake. */
export const wholeFileKeyHints: ReadonlyMap<string, string> = new Map(
  ['mcpServers', 'schemas', 'profiles', 'limits', 'audit', 'logging', 'inputs', 'processesMax'].map((key) => [
    key,
    'it belongs at the top level of the file',
  ]),
)

/** Keys of a server in other clients' files that the proxy does not have, with what to write instead. */
export const serverKeyHints: ReadonlyMap<string, string> = new Map([
  ...wholeFileKeyHints,
  ['includeTools', 'write "tools": { "allow": […] }'],
  ...['excludeTools', 'disabledTools'].map((key) => [key, 'write "tools": { "deny": […] }'] as const),
  ...['trust', 'alwaysAllow', 'autoApprove', 'alwaysLoad'].map(
    (key) => [key, 'clients decide that for themselves, so take it out'] as const,
  ),
])
