/** The message of an error; anything else as text. */
export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** The code of an error, as the system gives them (`ENOENT`); undefined without one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
