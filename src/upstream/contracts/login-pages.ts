// The pages of a login in a browser.

/** The address at which one login begins, and to which the browser comes back. */
export interface LoginPages {
  readonly startPage: string
  readonly redirectUri: string
  /** The parameters of the first callback that has the state. */
  readonly parameters: Promise<URLSearchParams>
  /** From now on the start page leads there, and a callback with this state is the one that is awaited. */
  expect(state: string, address: string): void
  close(): void
}

/** Opens the pages of one login of a user; undefined while too many are open. */
export type OpenLoginPages = () => LoginPages | undefined
