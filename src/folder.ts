import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** The folder of the compiled program, bundled or not. */
export const programFolder: string = dirname(fileURLToPath(import.meta.url))
