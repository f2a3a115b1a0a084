// nginx and HAProxy as Debian configures them, with the one line each that names the front.

import { getuid } from 'node:process'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Scope } from '../../integration/support/spawned.js'
import { type Running, type SystemProgram, startProgram } from './system-program.js'

export interface Balancer {
  readonly title: string
  /** Whether it asks several requests on one connection to the front. */
  readonly reuses: boolean
  start(scope: Scope, frontPort: number): Promise<Running>
}

/** When root starts the master, its workers run as another user, who may not write in the folder of the test. */
const user = getuid?.() === 0 ? 'user root;' : ''

const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']

interface NginxParts {
  readonly upstream?: string
  readonly location: string
}

function nginx({ upstream = '', location }: NginxParts): SystemProgram {
  return {
    command: 'nginx',
    args: (folder, config) => ['-p', folder, '-e', 'stderr', '-c', config],
    config: (folder, port) => `${user}
daemon off;
worker_processes auto;
pid ${folder}/pid;
error_log stderr warn;
events { worker_connections 768; }
http {
  sendfile on;
  tcp_nopush on;
  types_hash_max_size 2048;
  default_type application/octet-stream;
  access_log off;
  gzip on;
  ${temporary.map((name) => `${name}_temp_path ${folder}/${name};`).join(' ')}
  ${upstream}
  server {
    listen 127.0.0.1:${port};
    # nginx itself refuses what is larger than 1 MiB.
    client_max_body_size 16m;
    location / { ${location} }
  }
}
`,
  }
}

/** HTTP/1.0 and a connection for each request, as versions before 1.29.7 have it by default. */
const plainNginx: Balancer = {
  title: 'nginx',
  reuses: false,
  start: (scope, frontPort) =>
    startProgram(scope, nginx({ location: `proxy_pass http://127.0.0.1:${frontPort};` })),
}

export interface KeepAlive {
  /** For how long nginx keeps a connection that rests. */
  readonly seconds: number
  readonly connections: number
}

/** HTTP/1.1, and connections that are used again. */
export function nginxKeepingAlive({ seconds, connections }: KeepAlive): Balancer {
  return {
    title: 'nginx with connections that are kept',
    reuses: true,
    start: (scope, frontPort) => {
      const kept = `keepalive ${connections}; keepalive_timeout ${seconds}s;`
      const upstream = `upstream front { server 127.0.0.1:${frontPort}; ${kept} }`
      const location = `proxy_pass http://front; proxy_http_version 1.1; proxy_set_header Connection "";`
      return startProgram(
        scope,
        nginx({ upstream, location: `${location} proxy_set_header Host $http_host;` }),
      )
    },
  }
}

const serverNames = ['one', 'two', 'three']

/** `check` is the line of the backend that says how its server is asked whether it is well, `more` another one. */
export function haproxyProgram(
  frontPorts: number | readonly number[],
  check: string,
  more = '',
): SystemProgram {
  const servers = [frontPorts]
    .flat()
    .map((port, index) => `  server ${serverNames[index]} 127.0.0.1:${port} check`)
  return {
    command: 'haproxy',
    args: (_folder, config) => ['-db', '-f', config],
    config: (folder, port) => `global
  stats socket ${folder}/stats mode 600 level admin
defaults
  mode http
  option dontlognull
  timeout connect 5000
  timeout client 50000
  timeout server 50000
frontend clients
  bind 127.0.0.1:${port}
  default_backend front
backend front
  ${check}
  ${more}
${servers.join('\n')}
`,
  }
}

/** The state of the front in HAProxy: whether the front is up, and the result of the last check. */
export async function checked({ folder }: Running): Promise<Readonly<Record<'status' | 'check', string>>> {
  const socket = connect(`${folder}/stats`)
  socket.write('show stat\n')
  // It listens for clients before it listens here.
  const told = await text(socket).catch(() => '')
  const [head = '', ...rows] = told.split('\n')
  const names = head.replace('# ', '').split(',')
  const cells = rows.find((row) => row.startsWith('front,one,'))?.split(',') ?? []
  const cell = (name: string): string => cells[names.indexOf(name)] ?? ''
  return { status: cell('status'), check: cell('check_status') }
}

const haproxy: Balancer = {
  title: 'HAProxy',
  reuses: true,
  start: (scope, frontPort) => startProgram(scope, haproxyProgram(frontPort, 'option httpchk GET /health')),
}

/** Balancers that spread requests over several fronts, one after the other. */
export interface RoundRobin {
  readonly title: string
  start(scope: Scope, frontPorts: readonly number[]): Promise<Running>
}

/** As `examples/deploy/haproxy.cfg` has it, with checks more often; a busy machine may take long to answer one. */
const roundRobinHaproxy: RoundRobin = {
  title: 'HAProxy',
  start: (scope, frontPorts) => {
    const checks = 'timeout check 5s\n  default-server inter 100 fall 1 rise 1'
    const more = `balance roundrobin\n  option redispatch 1\n  retries 3\n  retry-on conn-failure 503\n  ${checks}`
    return startProgram(scope, haproxyProgram(frontPorts, 'option httpchk GET /ready', more))
  },
}

/** A front that refuses a connection is left out for a second. */
const roundRobinNginx: RoundRobin = {
  title: 'nginx',
  start: (scope, frontPorts) => {
    const servers = frontPorts.map((port) => `server 127.0.0.1:${port} max_fails=1 fail_timeout=1s;`)
    const upstream = `upstream front { ${servers.join(' ')} }`
    const location = 'proxy_pass http://front; proxy_buffering off;'
    return startProgram(scope, nginx({ upstream, location }))
  },
}

export const roundRobins: readonly RoundRobin[] = [roundRobinHaproxy, roundRobinNginx]

export const balancers: readonly Balancer[] = [
  plainNginx,
  nginxKeepingAlive({ seconds: 60, connections: 16 }),
  haproxy,
]
