// Keys of other clients' files that the proxy does not have, with what to write instead.

/** Keys of a server. */
export const serverKeyHints: ReadonlyMap<string, string> = new Map([
  ['includeTools', 'write "tools": { "allow": […] }'],
  ['excludeTools', 'write "tools": { "deny": […] }'],
  ['disabledTools', 'write "tools": { "deny": […] }'],
  ...['trust', 'alwaysAllow', 'autoApprove', 'alwaysLoad'].map(
    (key) => [key, 'clients decide that for themselves, so take it out'] as const,
  ),
  ['spare', 'a session starts in a tenth of a second, so that no machine is kept ready; take it out'],
  ['pins', 'files outlive a session in a folder of "volumes"; take it out'],
  ['listTtl', 'clients are told that lists are out of date at once; take it out'],
  ['oauth', 'there is no OAuth here; write "headers" or "auth"'],
])

/** Keys of the file. */
export const rootKeyHints: ReadonlyMap<string, string> = new Map([
  ['inputs', 'nobody is asked here; write ${NAME} in place of ${input:…}, and set that variable'],
])

/** The replacement of a `${…}` that is no variable here. */
export function hintOfForeign(text: string): string {
  if (text.startsWith('${input:'))
    return 'nobody is asked here, so write ${NAME} and set that variable in the environment'
  if (text.startsWith('${file:')) return 'write ${NAME}, or put the value into an envFile'
  return 'a variable is ${NAME}'
}

/** A value that other programs take for a variable: `$NAME` alone or behind a space. */
export function isShellVariable(value: string): boolean {
  return /(?:^|\s)\$[A-Za-z_]\w*$/.test(value)
}
