// What the bench's own HTTP programs have in common.

/** Ends the process when whoever started it is gone: its stdin is a pipe that only the bench holds. */
export function exitWithStdin(): void {
  process.stdin.resume()
  process.stdin.once('end', () => process.exit(0))
  process.stdin.once('error', () => process.exit(0))
}
