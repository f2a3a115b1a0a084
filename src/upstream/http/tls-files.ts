// The files that the configuration names for TLS, read when a connection first needs them.

import { readFileSync } from 'node:fs'
import type { TlsMeans } from '../../transports/http-client/connect-tls.js'
import { SocketTroubleError } from '../../transports/http-client/trouble.js'
import type { HttpTls } from '../contracts/server-config.js'

/** Whoever is not trusted by name is not trusted: a file without any certificate must not mean the machine's own. */
const BEGINNING = /-----BEGIN (?:X509 |TRUSTED )?CERTIFICATE-----/

export function tlsMeans({ ca, cert, key, servername }: HttpTls): TlsMeans {
  return {
    servername,
    material: () => {
      const read = { ca: file('tls.ca', ca), cert: file('tls.cert', cert), key: file('tls.key', key) }
      if (read.ca !== undefined && !BEGINNING.test(read.ca.toString('latin1')))
        throw unusableFile(`tls.ca (${ca}) holds no certificate in PEM`)
      return read
    },
  }
}

function file(name: string, path: string | undefined): Buffer | undefined {
  if (path === undefined) return undefined
  try {
    return readFileSync(path)
  } catch (error) {
    const why = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    throw unusableFile(`${name} cannot be read: ${path} (${why})`)
  }
}

function unusableFile(what: string): SocketTroubleError {
  return new SocketTroubleError({ what, remedy: 'check the file that the configuration names', lasts: true })
}
