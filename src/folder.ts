import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Where the compiled program lies, bundled or not. */
export const programFolder: string = dirname(fileURLToPath(import.meta.url))
