import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openZone } from '../../src/servers/zone.js'

const accepted = [
  'UTC',
  'Asia/Shanghai',
  'US/Eastern',
  'Asia/Calcutta',
  'EST',
  'EST5EDT',
  'Etc/GMT+5',
  'Etc/GMT-14',
  'GMT0',
  'GMT-0',
  'W-SU',
  'GB-Eire',
  'NZ-CHAT',
  'Zulu',
  'America/Knox_IN',
  'America/Port-au-Prince',
  'America/Argentina/ComodRivadavia',
  'Africa/Dar_es_Salaam',
  'Antarctica/DumontDUrville',
  'Antarctica/McMurdo',
  'Australia/LHI',
  'Europe/Isle_of_Man',
]

for (const name of accepted) {
  test(`${name} is a zone`, () => assert.equal(openZone(name).kind, 'zone'))
}

const unknown = [
  'Foo/Bar',
  'asia/shanghai',
  'ASIA/SHANGHAI',
  'Asia/shanghai',
  'utc',
  'Utc',
  'Est5edt',
  'America/Port-Au-Prince',
  'Antarctica/Mcmurdo',
  'Europe/Isle_Of_Man',
  'Asia/Shanghai ',
  'Asia',
  'ACT',
  'PST',
  'Pst',
  'SystemV/PST8',
  'Systemv/Pst8',
  'US/Pacific-New',
  '+01:00',
  'GMT+5',
  'Etc/GMT+13',
  'Etc/Unknown',
  'localtime',
  'posix/UTC',
]

for (const name of unknown) {
  test(`${name} is no zone`, () => {
    assert.deepEqual(openZone(name), { kind: 'refused', reason: `'No time zone found with key ${name}'` })
  })
}

const NORMALIZED = 'ZoneInfo keys must be normalized relative paths, got: '
const SUBDIRECTORIES = 'ZoneInfo keys must refer to subdirectories of TZPATH, got: '
const RELATIVE = 'ZoneInfo keys may not be absolute paths, got: '

const badKeys: readonly [name: string, reason: string][] = [
  ['', NORMALIZED],
  ['Asia/', NORMALIZED],
  ['Asia//Tokyo', NORMALIZED],
  ['./UTC', NORMALIZED],
  ['Asia/../UTC', NORMALIZED],
  ['../etc/passwd', SUBDIRECTORIES],
  ['../../x', SUBDIRECTORIES],
  ['..', SUBDIRECTORIES],
  ['.', SUBDIRECTORIES],
  ['/etc/localtime', RELATIVE],
  ['//x', RELATIVE],
]

for (const [name, reason] of badKeys) {
  test(`'${name}' is refused as a path`, () => {
    assert.deepEqual(openZone(name), { kind: 'refused', reason: reason + name })
  })
}

test('dots that begin a word are no path', () => {
  assert.deepEqual(openZone('..x/y'), { kind: 'refused', reason: "'No time zone found with key ..x/y'" })
})
