export function errorText(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}

/** Returns the code of an error, as the system sets it (`ENOENT`); undefined without one. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}
