// Connections of programs on real machines where `network.allow` names hosts.
//
// The hosts are servers of this process: the runtime of the sandbox leads names and addresses to them. The sandbox refuses
// other names and addresses as it does outside of tests.

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { type Socket, connect } from 'node:net'
import { after, describe, test } from 'node:test'
import type { LogRecord } from '../../../src/runtime/runtime.js'
import type { GuestCommand, Machine, SandboxRuntime } from '../../../src/sandbox/runtime.js'
import { chooseRuntime } from '../../../src/sandbox/runtimes.js'
import { until } from '../../integration/support/waiting.js'
import { listening } from '../../support/listening.js'
import { ran, shell, startedMachine } from '../../sandbox/machine-contract.js'
import { Authority, certificate } from '../../transports/support/certificates.js'
import { python } from './sandbox-attacks.js'
import type { SandboxScene } from './sandbox-scene.js'

/** Addresses that are public, and lead nowhere else than to the servers of the test. */
const PUBLIC = ['93.184.216.34', '93.184.216.35'] as const

const hosts = ['good.example', '*.wild.example', 'api.example:8443', 'inside.example']

/** The Internet of these tests. */
class Internet {
  /** By name: the answers, one after the other; the last one stays. */
  readonly names: Map<string, (readonly string[])[]> = new Map([
    ['good.example', [[PUBLIC[0]]]],
    ['www.wild.example', [[PUBLIC[0]]]],
    ['api.example', [[PUBLIC[0]]]],
    ['inside.example', [['127.0.0.1']]],
  ])
  readonly asked: string[] = []
  readonly connected: string[] = []
  readonly requests: IncomingMessage[] = []
  readonly sockets: Set<Socket> = new Set()
  /** Of the service. */
  readonly outgoing: Socket[] = []
  readonly authority: Authority = new Authority('Test authority')
  #port = 0
  /** Answers requests. */
  answer: (request: IncomingMessage, response: ServerResponse) => void = (request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () =>
      response.end(`${request.method} ${request.url} ${Buffer.concat(chunks).toString()}`),
    )
  }

  async listen(): Promise<void> {
    const names = ['good.example', 'www.wild.example', 'api.example']
    const listener = (request: IncomingMessage, response: ServerResponse): void => {
      this.requests.push(request)
      this.answer(request, response)
    }
    const server = createServer(certificate({ names, by: this.authority }), listener)
    server.on('connection', (socket: Socket) => {
      this.sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.sockets.delete(socket))
    })
    this.#port = await listening({ after }, server)
  }

  readonly resolve = async (name: string): Promise<readonly string[]> => {
    this.asked.push(name)
    const answers = this.names.get(name)
    const answer = answers !== undefined && answers.length > 1 ? answers.shift() : answers?.[0]
    return answer ?? Promise.reject(new Error('ENOTFOUND'))
  }

  readonly connect = ({ host, port }: { readonly host: string; readonly port: number }): Socket => {
    this.connected.push(`${host}:${port}`)
    const socket = connect({ host: '127.0.0.1', port: this.#port, allowHalfOpen: true })
    this.outgoing.push(socket)
    return socket
  }
}

/** A program of Node. */
function node(source: string): GuestCommand {
  return { program: process.execPath, args: ['--input-type=module', '-e', source] }
}

/** Asks for an address by urllib, and shows what came. */
const urllib = `
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile='ca.pem')
for url in sys.argv[1:]:
    try:
        with urllib.request.urlopen(url, context=context, timeout=20) as answer:
            print(answer.status, answer.read().decode())
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
    except OSError as error:
        print('refused', error)
`

export function allowedHostsHold(title: string, scene: SandboxScene): void {
  const made: SandboxRuntime[] = []
  after(() => Promise.all(made.map((each) => each.close())))

  interface World {
    readonly internet: Internet
    readonly machine: Machine
    readonly log: LogRecord[]
  }

  const runtimeFor = async (
    internet: Internet,
    log: LogRecord[],
    program?: string,
  ): Promise<SandboxRuntime> => {
    const { resolve, connect: connectTo } = internet
    const { runtime } = await chooseRuntime('bubblewrap', {
      ...scene.around,
      ...(program !== undefined && { programFolder: program }),
      runtime: { ...scene.runtime, resolve, connect: connectTo },
      log: (record) => void log.push(record),
      network: { kind: 'allow', hosts },
    })
    made.push(runtime)
    return runtime
  }

  const world = async (): Promise<World> => {
    const internet = new Internet()
    await internet.listen()
    const log: LogRecord[] = []
    const runtime = await runtimeFor(internet, log)
    const machine = await startedMachine(runtime, { language: 'python', network: { kind: 'allow', hosts } })
    await ran(machine, shell('cat > ca.pem'), internet.authority.cert)
    return { internet, machine, log }
  }

  describe(`${title}: network.allow`, () => {
    test('lets Python reach the hosts that are named, over HTTPS', async () => {
      const { machine, internet } = await world()
      const { stdout, stderr } = await ran(
        machine,
        python(
          urllib,
          'https://good.example/a?b=c',
          'https://www.wild.example/',
          'https://api.example:8443/',
          'https://GOOD.example/e',
        ),
      )
      assert.equal(stdout, '200 GET /a?b=c \n200 GET / \n200 GET / \n200 GET /e \n', stderr)
      assert.deepEqual(internet.connected, [
        `${PUBLIC[0]}:443`,
        `${PUBLIC[0]}:443`,
        `${PUBLIC[0]}:8443`,
        `${PUBLIC[0]}:443`,
      ])
      assert.equal(internet.requests[0]?.headers.host, 'good.example')
    })

    test('lets curl and Node reach them', async () => {
      const { machine } = await world()
      if (existsSync('/usr/bin/curl')) {
        const curl = await ran(
          machine,
          shell('curl -sS --cacert ca.pem https://good.example/x -d posted https://good.example/y'),
        )
        assert.equal(curl.stdout, 'POST /x postedPOST /y posted', curl.stderr)
      }
      const source = `
        import { readFileSync } from 'node:fs'
        import { request } from 'node:http'
        import { get } from 'node:https'
        const { hostname, port } = new URL(process.env.HTTPS_PROXY)
        const ca = readFileSync('ca.pem')
        request({ hostname, port, method: 'CONNECT', path: 'good.example:443' })
          .on('connect', (_, socket) => get({ host: 'good.example', path: '/node', createConnection: undefined, socket, agent: false, ca, servername: 'good.example' },
            (answer) => answer.pipe(process.stdout)))
          .end()`
      const { stdout, stderr } = await ran(machine, node(source))
      assert.equal(stdout, 'GET /node ', stderr)
    })

    test('lets them reach nothing else, and says what they may', async () => {
      const { machine, internet, log } = await world()
      const { stdout } = await ran(
        machine,
        python(
          urllib,
          'http://good.example/',
          'https://other.example/',
          'https://wild.example/',
          'https://good.example:8443/',
          'https://127.0.0.2/',
          'https://169.254.169.254/latest/meta-data/',
          'https://2852039166/',
          'https://[fd00::1]/',
          'https://inside.example/',
        ),
      )
      const lines = stdout.split('\n').filter((line) => line !== '')
      assert.match(
        stdout,
        /403 http:\/\/ is not carried: use https:\/\/.*\n.*good\.example, \*\.wild\.example/,
      )
      assert.match(stdout, /Tunnel connection failed: 403 other\.example:443 is not an allowed host/)
      assert.match(stdout, /Tunnel connection failed: 403 wild\.example:443/)
      assert.match(stdout, /Tunnel connection failed: 403 good\.example:8443/)
      assert.equal(stdout.match(/an address, or a name without a dot, is never allowed/g)?.length, 4, stdout)
      assert.match(stdout, /403 inside\.example:443 has no public address/)
      assert.doesNotMatch(stdout, /127\.0\.0\.1/, 'what names mean inside is not told')
      assert.equal(lines.filter((line) => line.startsWith('200')).length, 0)
      assert.deepEqual(internet.connected, [])
      assert.deepEqual(internet.asked, ['inside.example'], 'names that are not allowed are not looked up')
      assert.equal(log.length, 9)
      const message = log[1]?.message
      assert.equal(message, 'session name was refused a connection: other.example:443 is not an allowed host')
    })

    test('leaves no other way: no sockets, no names', async () => {
      const { machine } = await world()
      const { stdout } = await ran(
        machine,
        python(`
import socket
def told(what, do):
    try:
        do(); print(what, 'reached')
    except OSError:
        print(what, 'refused')
told('address', lambda: socket.create_connection(('${PUBLIC[0]}', 80), 5))
told('address 6', lambda: socket.create_connection(('2606:2800:220:1::1', 80), 5))
told('name', lambda: socket.getaddrinfo('good.example', 443))
told('datagram', lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('${PUBLIC[0]}', 53)))
told('own', lambda: socket.create_connection(('127.0.0.1', 3128), 5))
`),
      )
      assert.deepEqual(stdout.trim().split('\n'), [
        'address refused',
        'address 6 refused',
        'name refused',
        'datagram refused',
        'own reached',
      ])
    })

    test('servers of the session itself are reached without the proxy', async () => {
      const { machine } = await world()
      const { stdout } = await ran(
        machine,
        python(`
import http.server, threading, urllib.request
server = http.server.HTTPServer(('127.0.0.1', 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in ('127.0.0.1', 'localhost', '0.0.0.0'):
    print(urllib.request.urlopen(f'http://{host}:{server.server_port}/ca.pem').status)
try:
    urllib.request.urlopen(f'http://[::1]:{server.server_port}/')
except urllib.error.HTTPError as error:
    print(error)
except OSError:
    print('nobody listens')
`),
      )
      assert.equal(stdout, '200\n200\n200\nnobody listens\n')
    })

    test('500 connections at once: as many as there may be are open, the others are closed, and later all is well', async () => {
      const { machine, internet } = await world()
      const { stdout, stderr } = await ran(
        machine,
        python(`
import collections, socket, time
all = []
def heard(one):
    try: return one.recv(12).decode()
    except ConnectionError: return ''
for _ in range(500):
    one = socket.create_connection(('127.0.0.1', 3128), 60)
    if len(all) % 50 == 49: time.sleep(.05)
    try: one.sendall(b'CONNECT good.example:443 HTTP/1.1\\r\\n\\r\\n')
    except ConnectionError: pass
    all.append(one)
print(sorted(collections.Counter(heard(one) for one in all).items()))
`),
      )
      assert.equal(stdout, "[('', 436), ('HTTP/1.1 200', 64)]\n", stderr)
      assert.equal(internet.connected.length, 64)
      await until(() => internet.sockets.size === 0)
      const { stdout: again } = await ran(machine, python(urllib, 'https://good.example/again'))
      assert.equal(again, '200 GET /again \n')
    })

    test('a program that connects to the socket behind the port reaches what others reach', async () => {
      const internet = new Internet()
      await internet.listen()
      const log: LogRecord[] = []
      const runtime = await runtimeFor(internet, log)
      const inside = await startedMachine(runtime, { network: { kind: 'allow', hosts } })
      const program = inside.run(
        python(`
import socket, time
def ask(text):
    one = socket.socket(socket.AF_UNIX); one.connect('/.pipes/out'); one.send(text); return one
kept = [ask(text) for text in (
    b'CONNECT good.example:443 HTTP/1.1\\r\\n\\r\\n',
    b'CONNECT 127.0.0.1:80 HTTP/1.1\\r\\n\\r\\n',
    b'CONNECT inside.example:443 HTTP/1.1\\r\\nHost: inside.example\\r\\n\\r\\n',
    b'CONNECT other.example:443 HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n',
    b'GET http://good.example/ HTTP/1.1\\r\\nHost: good.example\\r\\n\\r\\n')]
time.sleep(1000)
`),
      )
      program.stderr.resume()
      await until(() => log.length === 4 && internet.sockets.size === 1)
      assert.deepEqual(internet.connected, [`${PUBLIC[0]}:443`])
      await inside.stop()
      await until(() => internet.sockets.size === 0)
    })
  })

  test(`${title}: without the key there is no port and no socket to connect to`, async () => {
    const inside = await startedMachine(await scene.bubblewrap())
    const { stdout } = await ran(
      inside,
      shell(
        'echo "$http_proxy$HTTPS_PROXY"; curl -sS http://127.0.0.1:3128/ 2>&1; ls /.pipes | grep -v "[.]"',
      ),
    )
    assert.match(stdout, /^\ncurl[^\n]*\n$/)
  })
}
