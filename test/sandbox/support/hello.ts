import type { Buffer } from 'node:buffer'
import { Duplex } from 'node:stream'
import { connect } from 'node:tls'

/** The first message of Node's TLS client. */
export function realHello(servername: string): Promise<Buffer> {
  return new Promise((resolve) => {
    const socket = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        resolve(chunk)
        done()
      },
    })
    connect({ socket, servername }).on('error', () => undefined)
  })
}
