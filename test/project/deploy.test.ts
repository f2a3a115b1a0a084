// The files of examples/deploy: what they name fits together. No cluster, no container and no image is made here.

import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { parse, parseAllDocuments } from 'yaml'
import { httpCommand } from '../../src/cli/serve-commands.js'
import { resolveConfig } from '../../src/config/config.js'
import { at, listAt, numberAt, parsed, textAt } from '../integration/support/json.js'
import { root } from '../support/source-text.js'

const folder = join(root, 'examples/deploy')
const read = (name: string): string => readFileSync(join(folder, name), 'utf8')

/** Every value of this member, at any depth. */
function allOf(value: unknown, name: string): unknown[] {
  if (typeof value !== 'object' || value === null) return []
  const nested = Object.values(value).flatMap((each) => allOf(each, name))
  return Object.hasOwn(value, name) ? [at(value, name), ...nested] : nested
}

const objects = readdirSync(join(folder, 'kubernetes')).flatMap((file) =>
  parseAllDocuments(read(`kubernetes/${file}`)).map((document): unknown => {
    assert.deepEqual([...document.errors, ...document.warnings], [], file)
    return document.toJS()
  }),
)

function only(kind: string): unknown {
  const [found, ...others] = objects.filter((each) => at(each, 'kind') === kind)
  assert.equal(others.length, 0, kind)
  return found ?? assert.fail(`no ${kind}`)
}

const namesOf = (list: readonly unknown[]): string[] => list.map((each) => textAt(each, 'name'))

describe('the objects of Kubernetes', () => {
  const deployment = only('Deployment')
  const pod = at(deployment, 'spec', 'template', 'spec')
  const container = at(pod, 'containers', 0)
  const configuration = resolveConfig(parsed(textAt(only('ConfigMap'), 'data', 'config.json')), {
    source: 'config.yaml',
    folder: root,
    env: { SEARCH_API_KEY: 'a', MCPS_PROXY_TOKEN: 'b' },
  })

  test('have a configuration without mistakes', () => assert.deepEqual(configuration.warnings, []))

  test('are of the versions that have them, under one name', () => {
    assert.deepEqual(objects.map((each) => `${textAt(each, 'apiVersion')} ${textAt(each, 'kind')}`).sort(), [
      'apps/v1 Deployment',
      'autoscaling/v2 HorizontalPodAutoscaler',
      'networking.k8s.io/v1 NetworkPolicy',
      'policy/v1 PodDisruptionBudget',
      'v1 ConfigMap',
      'v1 Secret',
      'v1 Service',
    ])
    for (const each of objects) assert.equal(at(each, 'metadata', 'name'), 'mcps-proxy')
    const target = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'mcps-proxy' }
    assert.deepEqual(at(only('HorizontalPodAutoscaler'), 'spec', 'scaleTargetRef'), target)
    for (const kind of ['secretRef', 'configMap'])
      assert.deepEqual(allOf(deployment, kind), [{ name: 'mcps-proxy' }])
  })

  test('select the pods of the Deployment', () => {
    const labels = at(deployment, 'spec', 'template', 'metadata', 'labels')
    assert.deepEqual(at(only('Service'), 'spec', 'selector'), labels)
    const own = [deployment, only('PodDisruptionBudget'), at(pod, 'topologySpreadConstraints')]
    const selectors = own.flatMap((each) => allOf(each, 'matchLabels'))
    assert.deepEqual(
      selectors,
      Array.from({ length: selectors.length }, () => labels),
    )
    assert.deepEqual(at(only('NetworkPolicy'), 'spec', 'podSelector', 'matchLabels'), labels)
  })

  test('name ports that the gateway has', () => {
    const { server } = configuration
    const ports = listAt(container, 'ports')
    assert.deepEqual(ports, [
      { name: 'http', containerPort: server.port },
      { name: 'metrics', containerPort: server.metrics?.port },
    ])
    const ingress = at(only('NetworkPolicy'), 'spec', 'ingress')
    const probes = allOf(container, 'httpGet')
    const paths = probes.map((each) => textAt(each, 'path'))
    assert.deepEqual(paths, ['/health', '/health', '/ready'])
    const named = [...probes, ...listAt(ingress, 0, 'ports'), ...listAt(ingress, 1, 'ports')]
    const wanted = ['http', 'http', 'http', 'http', 'metrics']
    const namedPorts = named.map((each) => at(each, 'port'))
    assert.deepEqual(namedPorts, wanted)
    assert.deepEqual(allOf(only('Service'), 'targetPort'), ['http'])
  })

  test('mount the volumes of the pod, where the image expects them', () => {
    const mounts = listAt(container, 'volumeMounts')
    assert.deepEqual(namesOf(mounts), namesOf(listAt(pod, 'volumes')))
    const paths = mounts.map((each) => textAt(each, 'mountPath'))
    assert.deepEqual(paths, ['/config', '/home/node', '/tmp'])
    assert.match(read('Dockerfile'), /^VOLUME \/home\/node$/m)
    assert.match(read('Dockerfile'), /^ENV MCPS_PROXY_CONFIG=\/config\/config\.json$/m)
  })

  test('give a pod no more rights than it needs, and the time to end', () => {
    assert.equal(at(pod, 'securityContext', 'runAsNonRoot'), true)
    assert.deepEqual(at(container, 'securityContext'), {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const { drainDelayMs, drainTimeoutMs } = configuration.server
    assert(drainDelayMs !== undefined && drainTimeoutMs !== undefined)
    const seconds = (drainDelayMs + drainTimeoutMs) / 1000 + 11
    assert(numberAt(pod, 'terminationGracePeriodSeconds') > seconds)
  })

  test('have the secrets that the configuration reads', () => {
    const keys = Object.keys(Object(at(only('Secret'), 'stringData')))
    const written = [...read('kubernetes/config.yaml').matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => name)
    assert.deepEqual(keys.sort(), [
      'MCPS_PROXY_STATE_KEY',
      'MCPS_PROXY_STORE',
      'MCPS_PROXY_TOKEN',
      ...written,
    ])
  })
})

describe('three instances', () => {
  const compose: unknown = parse(read('compose.three.yaml'), { merge: true })
  const service = (name: string): unknown => at(compose, 'services', name)
  const labels = ['a', 'b', 'c']

  test('of compose.three.yaml are those of haproxy.cfg and nginx.conf', () => {
    for (const label of labels) {
      assert.equal(at(service(label), 'environment', 'MCPS_PROXY_INSTANCE'), label)
      assert.match(read('haproxy.cfg'), new RegExp(`^ {2}server ${label} ${label}:3095$`, 'm'))
      assert.match(read('nginx.conf'), new RegExp(`^ {2}~\\^${label}\\\\. ${label};$`, 'm'))
    }
  })

  test('of compose.three.yaml share nothing but their store, which keeps what it has', () => {
    const homes = labels.map((label) => textAt(service(label), 'volumes', 1).split(':')[0])
    assert.equal(new Set(homes).size, labels.length)
    for (const label of labels) {
      assert.equal(at(service(label), 'read_only'), true)
      assert.match(textAt(service(label), 'environment', 'MCPS_PROXY_STORE'), /@valkey:6379$/)
    }
    assert.match(textAt(service('valkey'), 'command'), /--appendonly yes --maxmemory-policy noeviction/)
    for (const networks of allOf(at(compose, 'services'), 'networks'))
      for (const name of listAt(networks)) assert.notEqual(at(compose, 'networks', String(name)), undefined)
  })

  test('of compose.three.yaml mount volumes that are declared', () => {
    const mounted = allOf(at(compose, 'services'), 'volumes').flatMap((list) =>
      listAt(list).map((each) => String(each).split(':')[0] ?? ''),
    )
    const declared = Object.keys(Object(at(compose, 'volumes')))
    assert.deepEqual(mounted.filter((each) => !/^[./]/.test(each)).sort(), declared.sort())
  })
})

/** The instructions of the file, each on one line. */
const instructions = read('Dockerfile')
  .replaceAll(/^#.*$/gm, '')
  .replaceAll(/\\\n\s*/g, '')
  .split('\n')
  .filter((line) => line.trim() !== '')

const valuesOf = (name: string): string[] =>
  instructions.flatMap((line) => (line.startsWith(`${name} `) ? [line.slice(name.length + 1)] : []))

function wordsIn(json: string | undefined): string[] {
  const words: unknown = JSON.parse(json ?? '')
  assert(Array.isArray(words))
  return words.map(String)
}

describe('the Dockerfile', () => {
  test('starts a gateway, not as root, below a process that reaps', () => {
    const [init, end, program, ...others] = wordsIn(valuesOf('ENTRYPOINT')[0])
    assert.deepEqual([init, end, program, others], ['tini', '--', 'mcps-proxy', []])
    const [name, ...args] = wordsIn(valuesOf('CMD').find((value) => value.startsWith('[')))
    assert.equal(name, 'http')
    assert.equal(httpCommand.read(args).host, '0.0.0.0')
    assert.deepEqual(valuesOf('USER'), ['node'])
    const last = instructions.findLastIndex((line) => line.startsWith('RUN '))
    assert(last < instructions.findIndex((line) => line.startsWith('USER ')))
  })

  test('is what compose.yaml builds', () => {
    assert.match(
      read('compose.yaml'),
      /^ {6}context: \.\.\/\.\.\n {6}dockerfile: examples\/deploy\/Dockerfile$/m,
    )
    assert.match(read('compose.yaml'), /^ {4}read_only: true$/m)
    // Of a file that is mounted by itself the container would keep the old text when it is replaced.
    assert.match(read('compose.yaml'), /^ {6}- \S+:\/config:ro$/m)
    assert.deepEqual(valuesOf('ENV'), ['MCPS_PROXY_CONFIG=/config/config.json'])
  })
})

describe('the unit of systemd', () => {
  const unit = read('mcps-proxy.service')

  test('starts a gateway, and gives it the time that it needs to end', () => {
    const [, line = ''] = /^ExecStart=\S+ mcps-proxy (.*)$/m.exec(unit) ?? []
    const [name, ...args] = line.split(' ')
    assert.equal(name, 'http')
    assert(httpCommand.read(args))
    // The program has ended after 11 seconds in all.
    assert(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > 11)
  })

  const verifier = 'systemd-analyze'
  const isMissing = spawnSync(verifier, ['--version']).error !== undefined
  test('is valid', { skip: isMissing ? `${verifier} is not installed` : false }, () => {
    const units = ['mcps-proxy.service', 'mcps-proxy.socket'].map((name) => join(folder, name))
    const { status, stderr } = spawnSync(verifier, ['verify', ...units], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  })

  test('is hardened', { skip: isMissing ? `${verifier} is not installed` : false }, () => {
    const unit = join(folder, 'mcps-proxy.service')
    const { status, stdout } = spawnSync(verifier, ['security', '--offline=yes', '--threshold=60', unit])
    assert.equal(status, 0, String(stdout))
  })
})
