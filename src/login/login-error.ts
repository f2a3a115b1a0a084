/** Why there is no login, in words for a person; holds nothing secret. */
export class LoginError extends Error {
  /** Whether the authorization server does not take the refresh token any more, so that only a new login helps. */
  readonly isOver: boolean

  constructor(message: string, isOver = false) {
    super(message)
    this.isOver = isOver
  }
}
