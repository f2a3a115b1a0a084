// The secret key from which the names and checksums of kept files are computed.

import type { KeptFiles } from '../runtime/runtime.js'
import { KeptNames } from './names.js'

export const KEY_FILE = 'key'
export const KEY_BYTES = 32

/** Undefined as long as nothing was ever kept. */
export function readNames(files: KeptFiles, source: string): KeptNames | undefined {
  const key = files.read(KEY_FILE, KEY_BYTES)?.bytes
  return key?.length === KEY_BYTES ? new KeptNames(key, source) : undefined
}
