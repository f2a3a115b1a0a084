// The proxy of one machine, over streams in memory: the bytes for the server, the answers to the program, and the end of both.

import assert from 'node:assert/strict'
import { Buffer } from 'node:buffer'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { Duplex, PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import type { EgressRuntime } from '../../../src/sandbox/egress/dial.js'
import { Egress } from '../../../src/sandbox/egress/egress.js'
import { openWayOut } from '../../../src/sandbox/guest/way-out.js'
import { numberAt } from '../../integration/support/json.js'
import { realHello } from '../support/hello.js'
import { scratch } from '../../integration/support/spawned.js'
import { FakeClock } from '../../upstream/support/fake-clock.js'
import type { LogRecord, SocketPlace } from '../../../src/runtime/runtime.js'

const ADDRESS = '93.184.216.34'

/** The far end of a connection that was made. */
class FakeServer {
  readonly to: string
  readonly heard: Buffer[] = []
  readonly socket: Duplex
  hasHeardEnd = false

  constructor({ host, port }: SocketPlace, isReachable: boolean) {
    this.to = `${host}:${port}`
    this.socket = new Duplex({
      read: () => undefined,
      write: (chunk: Buffer, _encoding, done) => {
        this.heard.push(chunk)
        done()
      },
      final: (done) => {
        this.hasHeardEnd = true
        done()
      },
    })
    const socket = this.socket
    setImmediate(() => (isReachable ? socket.emit('connect') : socket.destroy(new Error('ECONNREFUSED'))))
  }

  get text(): string {
    return Buffer.concat(this.heard).toString('latin1')
  }

  say(text: string): void {
    this.socket.push(Buffer.from(text, 'latin1'))
  }

  end(): void {
    this.socket.push(null)
  }
}

/** A program that has connected. */
class Program {
  readonly input = new PassThrough()
  readonly output = new PassThrough({ highWaterMark: 1024 * 1024 })
  readonly socket = Duplex.from({ readable: this.input, writable: this.output })
  #heard = ''

  constructor() {
    this.socket.on('error', () => undefined)
    this.output.on('data', (chunk: Buffer) => (this.#heard += chunk.toString('latin1')))
  }

  get isDropped(): boolean {
    return this.socket.destroyed
  }

  leave(): void {
    this.socket.destroy()
  }

  get heard(): string {
    return this.#heard
  }

  async say(bytes: string | Buffer, size = Infinity): Promise<void> {
    const all = Buffer.from(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    for (let at = 0; at < all.length; at += size) {
      if (!this.input.destroyed) this.input.write(all.subarray(at, at + size))
      await turn()
    }
    await settled()
  }
}

async function settled(): Promise<void> {
  for (let i = 0; i < 12; i++) await turn()
}

class Scene {
  readonly clock = new FakeClock()
  readonly servers: FakeServer[] = []
  readonly asked: string[] = []
  readonly log: LogRecord[] = []
  readonly runtime: EgressRuntime
  readonly egress: Egress
  addresses: readonly string[] = [ADDRESS]
  unreachable: readonly string[] = []
  /** Of names that take long. */
  isSlow = false
  givenUp = 0

  constructor(hosts: readonly string[] = ['good.example', 'api.example:8443']) {
    this.runtime = {
      now: () => this.clock.now(),
      setTimer: (delayMs, fire) => this.clock.setTimer(delayMs, fire),
      resolve: async (name, signal) => {
        this.asked.push(name)
        signal.addEventListener('abort', () => this.givenUp++)
        if (this.isSlow) await new Promise(() => {})
        if (this.addresses.length === 0) throw new Error('ENOTFOUND')
        return this.addresses
      },
      connect: (to) => {
        const server = new FakeServer(to, !this.unreachable.includes(to.host))
        this.servers.push(server)
        return server.socket
      },
    }
    this.egress = new Egress(hosts, 'session s-1', this.runtime, (record) => void this.log.push(record))
  }

  /** In steps: a timer that is late is put off. */
  async pass(ms: number): Promise<void> {
    for (const end = this.clock.now() + ms; this.clock.now() < end;) {
      this.clock.advance(Math.min(end - this.clock.now(), 500))
      await settled()
    }
  }

  connect(): Program {
    const program = new Program()
    this.egress.accept(program.socket)
    return program
  }

  async ask(request: string | Buffer, size = Infinity): Promise<Program> {
    const program = this.connect()
    await program.say(request, size)
    return program
  }
}

/** A program that has made this request, in a new scene. */
async function asked(request: string | Buffer, size?: number): Promise<{ scene: Scene; program: Program }> {
  const scene = new Scene()
  return { scene, program: await scene.ask(request, size) }
}

const ESTABLISHED = 'HTTP/1.1 200 Connection established\r\n\r\n'
const CONNECT = 'CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n'
const TUNNEL = Buffer.concat([Buffer.from(CONNECT), await realHello('good.example')])

describe('a tunnel', () => {
  test('carries TLS for its name, however it is cut', async () => {
    const hello = await realHello('good.example')
    const bytes = Buffer.concat([Buffer.from(CONNECT), hello, Buffer.from('more')])
    for (const size of [1, 2, 3, 7, 64, bytes.length]) {
      const { scene, program } = await asked(bytes, size)
      assert.equal(program.heard, ESTABLISHED)
      const [server] = scene.servers
      assert.equal(server?.to, `${ADDRESS}:443`)
      assert.equal(server.text, `${hello.toString('latin1')}more`)
      server.say('answer')
      await settled()
      assert.equal(program.heard.slice(-6), 'answer')
      assert.deepEqual(scene.log, [])
      server.end()
      await settled()
      const facts = [program.isDropped, server.socket.destroyed]
      assert.deepEqual(facts, [false, true], 'the program may still write')
      program.input.end('the end')
      await settled()
      assert(program.isDropped)
      assert.equal(scene.clock.timers, 0)
    }
  })

  const others: readonly (readonly [title: string, bytes: () => Buffer | Promise<Buffer>, why: RegExp])[] = [
    ['TLS for another name', () => realHello('other.example'), /names another server/],
    ['HTTP', () => Buffer.from('GET / HTTP/1.1\r\nHost: other.example\r\n\r\n'), /no TLS/],
    ['SSH', () => Buffer.from('SSH-2.0-OpenSSH\r\n'), /no TLS/],
  ]
  for (const [title, bytes, why] of others)
    test(`carries no ${title}`, async () => {
      const { scene, program } = await asked(Buffer.concat([Buffer.from(CONNECT), await bytes()]))
      assert.equal(program.heard.slice(-7), '\x15\x03\x03\x00\x02\x02\x70')
      assert.equal(scene.servers[0]?.text, '', 'nothing of it reaches the server')
      assert(scene.servers[0].socket.destroyed)
      assert.match(scene.log[0]?.message ?? '', why)
      await scene.pass(6000)
      assert(program.isDropped)
    })

  test('that its server has ended is read as long as its program writes, and closed 5 s later', async () => {
    const { scene, program } = await asked(TUNNEL)
    scene.servers[0]?.end()
    for (let i = 0; i < 3; i++) {
      await scene.pass(4000)
      await program.say('x')
    }
    assert.deepEqual([program.isDropped, program.output.writableFinished], [false, true])
    await scene.pass(6000)
    assert(program.isDropped)
    assert.equal(scene.clock.timers, 0)
  })

  // A write to a closed socket fails, and Node.js then discards what the socket has received.
  test('brings a program all of a long answer, though it writes at each part and the server has ended', async (t) => {
    const bytes = 400_000
    const far = createServer({ allowHalfOpen: true }, (socket) => {
      socket.on('error', () => undefined)
      socket.once('data', () => socket.end(Buffer.alloc(bytes))).resume()
    })
    const path = join(scratch(t), 's')
    const runtime: EgressRuntime = {
      ...new Scene().runtime,
      connect: () => connect({ port: numberAt(far.address(), 'port'), host: '127.0.0.1' }),
    }
    const egress = new Egress(['good.example'], 'session s-1', runtime, () => undefined)
    t.after(() => {
      egress.end()
      far.close()
    })
    await once(far.listen(0, '127.0.0.1'), 'listening')
    await egress.listen(path)
    const inside = await openWayOut(0, path)
    t.after(() => inside.close())
    const program = connect({ port: numberAt(inside.address(), 'port'), host: '127.0.0.1' })
    program.write(TUNNEL)
    const [atFar] = await once(far, 'connection')
    await once(atFar, 'close')
    let received = 0
    for await (const chunk of program) {
      received += chunk.length
      program.write('x')
    }
    assert.equal(received, ESTABLISHED.length + bytes)
  })
})

describe('a request', () => {
  test('for http:// is refused with a hint to https://', async () => {
    const { scene, program } = await asked('GET http://good.example/a HTTP/1.1\r\nHost: good.example\r\n\r\n')
    assert.match(program.heard, /^HTTP\/1\.1 403 http:\/\/ is not carried: use https:\/\//)
    assert(program.isDropped)
    assert.deepEqual(scene.asked, [])
  })

  test('that is too long is told so', async () => {
    const { program } = await asked(`CONNECT good.example/${'a'.repeat(20_000)}`)
    assert.match(
      program.heard,
      /^HTTP\/1\.1 431 the request is not understood: its head is longer than 16384 bytes\r\n/,
    )
    assert(program.isDropped)
  })

  test('that does not come is not waited for without end', async () => {
    const { scene, program } = await asked('CONNECT good')
    await scene.pass(31_000)
    assert.deepEqual([program.heard, program.isDropped], ['', true])
    assert.equal(scene.clock.timers, 0)
  })

  for (const [title, bytes] of [
    ['of which no byte comes is none, and nothing is said of it', ''],
    ['whose program ends before it is whole is none', 'CONN'],
  ] as const)
    test(title, async () => {
      const scene = new Scene()
      const program = scene.connect()
      program.input.end(bytes)
      await settled()
      assert(program.isDropped)
      assert.deepEqual([scene.asked, program.heard, scene.log], [[], '', []])
    })
})

function splitHead(text: string): readonly [head: string, rest: string] {
  const at = text.indexOf('\r\n\r\n') + 4
  return [text.slice(0, at), text.slice(at)]
}

describe('a host', () => {
  test('that is not allowed is not looked up, and the program is told what is', async () => {
    const { scene, program } = await asked('CONNECT other.example:443 HTTP/1.1\r\n\r\n')
    const [head, body] = splitHead(program.heard)
    assert.match(head, /^HTTP\/1\.1 403 other\.example:443 is not an allowed host\r\n/)
    assert.match(head, new RegExp(`Content-Length: ${body.length}\r\n`))
    assert.match(body, /reach only these hosts, over https:\/\/: good\.example, api\.example:8443\n$/)
    assert.deepEqual([scene.asked, scene.servers], [[], []])
    assert(program.isDropped)
  })

  const privates = [
    ['10.0.0.1'],
    ['::1'],
    ['169.254.169.254', '64:ff9b::a00:1'],
    ['fe80::1%lo'],
    ['nonsense'],
  ]
  for (const addresses of privates)
    test(`at ${addresses.join(', ')} is refused`, async () => {
      const scene = new Scene()
      scene.addresses = addresses
      const program = await scene.ask(TUNNEL)
      assert.match(program.heard, /^HTTP\/1\.1 403 good\.example:443 has no public address\r\n/)
      assert.deepEqual(scene.servers, [])
      assert.deepEqual(scene.log[0]?.details, { detail: addresses.join(', ') })
      assert.equal(program.heard.includes(addresses[0] ?? ''), false, 'only the log has the address')
    })

  test('is reached at its public addresses only, one after the other', async () => {
    const scene = new Scene()
    scene.addresses = ['10.0.0.1', '93.184.216.40', '2606:4700::1', '93.184.216.41', '93.184.216.42']
    scene.unreachable = scene.addresses
    const program = await scene.ask(TUNNEL)
    const targets = scene.servers.map(({ to }) => to)
    assert.deepEqual(targets, ['93.184.216.40:443', '2606:4700::1:443', '93.184.216.41:443'])
    const { heard } = program
    assert.match(heard, /^HTTP\/1\.1 502 good\.example:443 cannot be reached: no connection was made\r\n/)
    assert.deepEqual(scene.asked, ['good.example'])
    assert(scene.servers.every(({ socket }) => socket.destroyed))
  })

  test('with thousands of addresses is refused when the first ones are private, and nobody waits until all are looked at', async () => {
    const scene = new Scene()
    scene.addresses = [...Array.from({ length: 64 }, (_, i) => `10.0.0.${i}`), ADDRESS]
    const heard = (await scene.ask(TUNNEL)).heard
    assert.match(heard, /^HTTP\/1\.1 403 good\.example:443 has no public address\r\n/)
    scene.addresses = scene.addresses.slice(1)
    await scene.ask(TUNNEL)
    assert.equal(scene.servers[0]?.to, `${ADDRESS}:443`)
  })

  test('without an address, or a name server that does not answer, is told so', async () => {
    const scene = new Scene()
    scene.addresses = []
    assert.match((await scene.ask(TUNNEL)).heard, /^HTTP\/1\.1 502 .*its name was not found\r\n/)
    scene.isSlow = true
    const program = await scene.ask(TUNNEL)
    await scene.pass(11_000)
    assert.match(program.heard, /^HTTP\/1\.1 504 .*not found in time\r\n/)
    assert.equal(scene.givenUp, 2, 'nobody waits for the answer any more')
  })
})

describe('connections', () => {
  test('end with their program, at every step', async () => {
    const steps = ['', 'CONNECT ht', CONNECT, TUNNEL]
    for (const step of steps) {
      const { scene, program } = await asked(step)
      program.leave()
      await settled()
      assert(scene.servers.every(({ socket }) => socket.destroyed))
      assert.equal(program.isDropped, true)
      await scene.pass(40_000)
      assert.equal(scene.clock.timers, 0)
    }
  })

  test('that belongs to no open request any more are no refusals', async () => {
    const scene = new Scene()
    scene.isSlow = true
    const program = await scene.ask(TUNNEL)
    program.leave()
    await scene.pass(40_000)
    assert.deepEqual([scene.log, scene.givenUp], [[], 1])
  })

  test('end with their machine, also those that are not open yet', async () => {
    const scene = new Scene()
    const programs = [await scene.ask(TUNNEL), await scene.ask(CONNECT), scene.connect()]
    scene.isSlow = true
    programs.push(await scene.ask(TUNNEL))
    scene.egress.end()
    await settled()
    assert(programs.every(({ isDropped }) => isDropped))
    assert(scene.servers.every(({ socket }) => socket.destroyed))
    assert((await scene.ask(TUNNEL)).isDropped)
    assert.equal(scene.asked.length, 3)
  })

  test('on which nothing moves end, and others do not', async () => {
    const scene = new Scene()
    const [still, busy] = [await scene.ask(TUNNEL), await scene.ask(TUNNEL)]
    for (let i = 0; i < 4; i++) {
      await scene.pass(100_000)
      scene.servers[1]?.say('x')
      await settled()
    }
    assert.deepEqual([still.isDropped, busy.isDropped], [true, false])
  })

  test('whose server breaks off do not look whole', async () => {
    const { scene, program } = await asked(TUNNEL)
    scene.servers[0]?.say('HTTP/1.1 200 OK\r\n\r\npart')
    await settled()
    scene.servers[0]?.socket.destroy(new Error('ECONNRESET'))
    await settled()
    assert(program.isDropped)
    assert.equal(program.output.writableEnded, false)
  })

  test('leave a server to wait for a program that does not read', async () => {
    const { scene, program } = await asked(TUNNEL)
    program.output.pause()
    const [server] = scene.servers
    assert(server !== undefined)
    let pushed = 0
    while (server.socket.push(Buffer.alloc(65_536)) || pushed < 100) {
      pushed++
      if (pushed > 10_000) break
      if (server.socket.readableLength > 8 * 1024 * 1024) break
      await turn()
    }
    assert(program.output.writableLength + program.output.readableLength < 4 * 1024 * 1024)
  })

  // A14: each is a question to the DNS and a port of the host.
  test('are made so many times a minute', async () => {
    const scene = new Scene()
    for (let i = 0; i < 600; i++) (await scene.ask(TUNNEL)).leave()
    const late = await scene.ask(TUNNEL)
    assert.match(late.heard, /^HTTP\/1\.1 503 good\.example:443 has to wait: too many connections/)
    assert.equal(scene.asked.length, 600)
    await scene.pass(61_000)
    assert.match((await scene.ask(TUNNEL)).heard, /^HTTP\/1\.1 200 /)
  })

  test('of which there are too many are closed', async () => {
    const scene = new Scene()
    const open: Program[] = []
    for (let i = 0; i < 64; i++) open.push(await scene.ask(TUNNEL))
    assert.deepEqual([scene.connect().isDropped, scene.servers.length], [true, 64])
    open[0]?.leave()
    await settled()
    assert.match((await scene.ask(TUNNEL)).heard, /^HTTP\/1\.1 200 /)
  })

  test('that are refused fill no log', async () => {
    const scene = new Scene()
    for (let i = 0; i < 50; i++) await scene.ask('CONNECT other.example:443 HTTP/1.1\r\n\r\n')
    assert.equal(scene.log.length, 10)
    await scene.pass(61_000)
    await scene.ask('CONNECT other.example:443 HTTP/1.1\r\n\r\n')
    assert.equal(scene.log.length, 11)
    assert(scene.log.every(({ message }) => /^session s-1 was refused [\x20-\x7e]+$/.test(message)))
  })
})
