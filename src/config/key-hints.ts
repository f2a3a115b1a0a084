// Keys of earlier versions, of other programs and of other places in the file. The hint says what to write instead.

/** A file with one of these keys starts, with a warning. */
export const earlierKeys: ReadonlyMap<string, string> = new Map([
  ['spare', 'a session starts in a tenth of a second, so no machine is kept ready; remove it'],
  ['pins', 'files outlive a session in a folder of "volumes"; remove it'],
  ['otlp', 'the variable OTEL_EXPORTER_OTLP_ENDPOINT names a collector; remove it'],
  ['${login:…}', 'the token of a login is no variable any more; give the program a token of its own'],
  ['tokens', 'files that only their owner can read hold the tokens of logins; remove it, and log in again'],
  ['listTtl', 'clients get list_changed immediately; remove it'],
  ['restartDelayMax', 'a restart waits 30 seconds at most; remove it'],
  ['crashWindow', 'crashes count for a minute; remove it'],
  ['crashHold', 'a program that keeps crashing is left alone for 30 seconds; remove it'],
  ['listTimeout', '"startTimeout" is the longest time of a list too'],
  ['timeouts', 'write "timeout" or "totalTimeout" of the server'],
  ['argumentErrors', 'the revision of the client decides; "argumentChecks": "off" checks nothing'],
  ['nameUnavailable', 'the instructions always name servers that cannot be used; remove it'],
  ['sessionProcessIdleMs', 'a process of one client is kept for two minutes; remove it'],
  ['keepAliveTimeout', 'a connection may lie idle for 620 seconds; remove it'],
  ['assertionType', 'the grant decides: an ID token for id_jag, else a JWT; remove it'],
  ['clientKeyId', 'remove it, and register one key at the authorization server'],
])

/** Without these keys a program would have more rights than the file intends, so they stop the start. */
export const refusedKeys: ReadonlyMap<string, string> = new Map([
  ['sandboxEnabled', 'write "sandbox": { … } in the server, or remove it'],
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
    (key) => [key, 'clients decide that for themselves, so remove it'] as const,
  ),
])
