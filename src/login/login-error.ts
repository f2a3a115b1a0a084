import { inShell } from '../text/escape.js'

/** A login failed. The message is for a person and contains no secret. */
export class LoginError extends Error {
  /** The error code of the authorization server (RFC 6749, section 5.2). Undefined if it sent none. */
  readonly code: string | undefined

  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }

  /** Whether the authorization server no longer accepts the refresh token, so that only a new login helps. */
  get isOver(): boolean {
    return this.code !== undefined && over.has(this.code)
  }

  /** Whether the authorization server would refuse the same request again. */
  get isRefusal(): boolean {
    return this.code !== undefined && !passing.has(this.code)
  }
}

/** Codes of a temporary failure (RFC 6749, section 4.1.2.1). */
const passing: ReadonlySet<string> = new Set(['server_error', 'temporarily_unavailable'])

const over: ReadonlySet<string> = new Set(['invalid_grant', 'bad_refresh_token', 'invalid_refresh_token'])

/** Returns the command that logs in to a server. `user` is set if each user has a separate login. */
export function loginCommand(name: string, user?: string): string {
  return `mcps-proxy login ${inShell(name)}${user === undefined ? '' : ` --user ${inShell(user)}`}`
}
