// Keys of earlier versions, of other programs and of other places in the file. The hint says what to write instead.

/** A file with one of these keys starts, with a warning. */
export const earlierKeys: ReadonlyMap<string, string> = new Map([
  ['spare', 'a session starts in a tenth of a second, so no machine is kept ready; take it out'],
  ['pins', 'files outlive a session in a folder of "volumes"; take it out'],
  ['otlp', 'the variable OTEL_EXPORTER_OTLP_ENDPOINT names a collector; take it out'],
  ['${login:…}', 'the token of a login is no variable any more; give the program a token of its own'],
  ['tokens', 'files that only their owner can read hold the tokens of logins; take it out, and log in again'],
  ['listTtl', 'clients are told that lists are out of date at once; take it out'],
  ['restartDelayMax', 'a restart waits 30 seconds at most; take it out'],
  ['crashWindow', 'crashes count for a minute; take it out'],
  ['crashHold', 'a program that keeps crashing is left alone for 30 seconds; take it out'],
  ['listTimeout', '"startTimeout" is the longest time of a list too'],
  ['timeouts', 'write "timeout" or "totalTimeout" of the server'],
  ['argumentErrors', 'the revision of the client decides; "argumentChecks": "off" checks nothing'],
  ['nameUnavailable', 'the instructions always name servers that cannot be used; take it out'],
  ['sessionProcessIdleMs', 'a process of one client is kept for two minutes; take it out'],
  ['keepAliveTimeout', 'a connection may lie idle for 620 seconds; take it out'],
  ['assertionType', 'the grant decides: an ID token for id_jag, else a JWT; take it out'],
  ['clientKeyId', 'take it out, and register one key at the authorization server'],
])

/** Without these keys a program would have more rights than the file intends, so they stop the start. */
export const refusedKeys: ReadonlyMap<string, string> = new Map([
  ['sandboxEnabled', 'write "sandbox": { … } in the server, or take it out'],
  ['allowRead', 'write "read"'],
  ['allowWrite', 'write "write"'],
])

/** Top-level keys that stand elsewhere by mistake, and keys of servers in the files of other clients. */
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
