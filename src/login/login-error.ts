import { inShell } from '../text/escape.js'

/** The message is for a person, and has nothing secret. */
export class LoginError extends Error {
  /** The refusal of the authorization server (RFC 6749, section 5.2); undefined where it gave none. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }

  /** Whether the authorization server does not take the refresh token any more, so that only a new login helps. */
  get isOver(): boolean {
    return this.code !== undefined && over.has(this.code)
  }

  /** Whether the same request would be refused again. */
  get isRefusal(): boolean {
    return this.code !== undefined && !passing.has(this.code)
  }
}

/** Codes of a server that may answer later (RFC 6749, section 4.1.2.1). */
const passing: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])

const over: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token'])

/** The command that makes the login of a server, and of a user where each one has a login. */
export function loginCommand(name: string, user?: string): string {
  return `mcps-proxy login ${inShell(name)}${user === undefined ? '' : ` --user ${inShell(user)}`}`
}
