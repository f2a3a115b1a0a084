// The expected values are what Python's `zoneinfo` gives for the same zone and instant. In Ireland and Morocco summer time is
// daylight saving time here, as people expect it, and there the database has a winter time instead.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callTool, instantOfWall, isZone } from '../../src/servers/time-tools.js'

const readings: readonly [name: string, instant: string, text: string, isDst: boolean][] = [
  ['UTC', '2026-11-21T20:32:38Z', '2026-11-21T20:32:38+00:00', false],
  ['Asia/Shanghai', '2026-11-21T20:32:38Z', '2026-11-22T04:32:38+08:00', false],
  ['America/New_York', '2025-01-15T12:00:00Z', '2025-01-15T07:00:00-05:00', false],
  ['America/New_York', '2025-07-15T12:00:00Z', '2025-07-15T08:00:00-04:00', true],
  ['Asia/Kathmandu', '2025-07-15T12:00:00Z', '2025-07-15T17:45:00+05:45', false],
  ['Europe/Dublin', '2025-01-15T12:00:00Z', '2025-01-15T12:00:00+00:00', false],
  ['Europe/Dublin', '2025-07-15T12:00:00Z', '2025-07-15T13:00:00+01:00', true],
  ['Africa/Casablanca', '2025-01-15T12:00:00Z', '2025-01-15T13:00:00+01:00', false],
  ['Africa/Casablanca', '2025-03-15T12:00:00Z', '2025-03-15T12:00:00+00:00', false],
  ['Africa/Casablanca', '2025-07-15T12:00:00Z', '2025-07-15T13:00:00+01:00', false],
  ['Australia/Lord_Howe', '2025-01-15T12:00:00Z', '2025-01-15T23:00:00+11:00', true],
  ['Australia/Lord_Howe', '2025-07-15T12:00:00Z', '2025-07-15T22:30:00+10:30', false],
  ['Pacific/Chatham', '2025-01-15T12:00:00Z', '2025-01-16T01:45:00+13:45', true],
  ['Europe/Istanbul', '2025-07-15T12:00:00Z', '2025-07-15T15:00:00+03:00', false],
  ['America/Whitehorse', '2020-07-15T12:00:00Z', '2020-07-15T05:00:00-07:00', true],
  ['America/Whitehorse', '2020-12-15T12:00:00Z', '2020-12-15T05:00:00-07:00', false],
]

for (const [name, instant, text, isDst] of readings)
  test(`${name} reads ${text} at ${instant}`, () => {
    const [{ text: result }] = callTool('get_current_time', { timezone: name }, Date.parse(instant)).content
    const { datetime, is_dst } = JSON.parse(result)
    assert.deepEqual([datetime, is_dst], [text, isDst])
  })

/** The third time of each change of clocks is the one that a fold repeats or a gap skips. */
const walls: readonly [name: string, wall: string, instant: string][] = [
  ['America/New_York', '2025-03-09T01:59Z', '2025-03-09T06:59:00.000Z'],
  ['America/New_York', '2025-03-09T02:30Z', '2025-03-09T07:30:00.000Z'],
  ['America/New_York', '2025-03-09T03:00Z', '2025-03-09T07:00:00.000Z'],
  ['America/New_York', '2025-11-02T01:30Z', '2025-11-02T05:30:00.000Z'],
  ['America/New_York', '2025-11-02T02:00Z', '2025-11-02T07:00:00.000Z'],
  ['Europe/Dublin', '2025-03-30T01:30Z', '2025-03-30T01:30:00.000Z'],
  ['Europe/Dublin', '2025-10-26T01:30Z', '2025-10-26T00:30:00.000Z'],
  ['Australia/Lord_Howe', '2025-10-05T02:15Z', '2025-10-04T15:45:00.000Z'],
  ['Australia/Lord_Howe', '2025-04-06T01:45Z', '2025-04-05T14:45:00.000Z'],
  ['Africa/Casablanca', '2025-02-23T02:30Z', '2025-02-23T01:30:00.000Z'],
  ['Africa/Casablanca', '2025-04-06T02:30Z', '2025-04-06T02:30:00.000Z'],
  ['Pacific/Apia', '2011-12-30T12:00Z', '2011-12-30T22:00:00.000Z'],
  ['Asia/Kathmandu', '2025-05-05T03:15Z', '2025-05-04T21:30:00.000Z'],
]

for (const [name, wall, instant] of walls)
  test(`${name} shows ${wall} at ${instant}`, () =>
    assert.equal(new Date(instantOfWall(name, Date.parse(wall))).toISOString(), instant))

test('every zone that the engine lists is one, and links and UTC too', () => {
  const names = [...Intl.supportedValuesOf('timeZone'), 'UTC', 'US/Eastern', 'EST5EDT', 'Etc/GMT+5', 'Zulu']
  const unknown = names.filter((name) => !isZone(name))
  assert.deepEqual(unknown, [])
})

for (const name of ['', 'Foo/Bar', '+01:00', '../etc/passwd', 'Asia', 'Asia/Shanghai '])
  test(`'${name}' is no zone`, () => assert.equal(isZone(name), false))
