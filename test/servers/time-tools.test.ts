import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callTool } from '../../src/servers/time-tools.js'

/** The clock of the recorded transcript. */
const now = (): number => Date.parse('2026-11-21T20:32:38.900Z')

function call(name: string, args: Readonly<Record<string, unknown>>, clock = now): string {
  const result = callTool(name, args, clock())
  assert.equal(result.isError, false)
  return result.content[0].text
}

test('convert_time answers as the Python server did', () => {
  const args = { source_timezone: 'America/New_York', time: '16:30', target_timezone: 'Asia/Kathmandu' }
  assert.equal(
    call('convert_time', args),
    '{\n  "source": {\n    "timezone": "America/New_York",\n    "datetime": "2026-11-21T16:30:00-05:00",\n' +
      '    "day_of_week": "Saturday",\n    "is_dst": false\n  },\n  "target": {\n' +
      '    "timezone": "Asia/Kathmandu",\n    "datetime": "2026-11-22T03:15:00+05:45",\n' +
      '    "day_of_week": "Sunday",\n    "is_dst": false\n  },\n  "time_difference": "+10.75h"\n}',
  )
})

const conversions: readonly [source: string, time: string, target: string, at: string, want: RegExp][] = [
  ['UTC', '9:05', 'Asia/Tokyo', '2025-06-01T12:00Z', /T09:05:00\+00:00.*T18:05:00\+09:00.*"\+9\.0h"/s],
  ['UTC', '09:5', 'UTC', '2025-06-01T12:00Z', /T09:05:00\+00:00.*T09:05:00\+00:00.*"\+0\.0h"/s],
  ['Asia/Kolkata', '00:00', 'UTC', '2025-06-01T12:00Z', /2025-06-01T00.*2025-05-31T18:30.*"-5\.5h"/s],
  ['Australia/Eucla', '12:00', 'UTC', '2025-06-01T12:00Z', /\+08:45.*"-8\.75h"/s],
  ['Asia/Kathmandu', '12:00', 'Asia/Calcutta', '2025-06-01T12:00Z', /"Asia\/Calcutta".*"-0\.25h"/s],
  // The day is the source's, not the machine's and not the target's.
  ['Pacific/Kiritimati', '08:00', 'UTC', '2025-06-01T11:00Z', /2025-06-02T08:00:00\+14:00.*2025-06-01T18/s],
  ['Pacific/Pago_Pago', '08:00', 'UTC', '2025-06-01T10:00Z', /2025-05-31T08:00:00-11:00.*2025-05-31T19/s],
]

for (const [source_timezone, time, target_timezone, at, want] of conversions)
  test(`${time} in ${source_timezone} for ${target_timezone} on ${at}`, () => {
    const converted = call('convert_time', { source_timezone, time, target_timezone }, () => Date.parse(at))
    assert.match(converted, want)
  })

const zones = { source_timezone: 'UTC', target_timezone: 'UTC' }
const badTime = 'Invalid time format. Expected HH:MM [24-hour format]'

const errors: readonly [name: string, args: Readonly<Record<string, unknown>>, text: string][] = [
  ['nope', {}, 'Unknown tool: nope'],
  ['toString', {}, 'Unknown tool: toString'],
  ['get_current_time', {}, "Input validation error: 'timezone' must be a non-empty string"],
  ['get_current_time', { timezone: 5 }, "Input validation error: 'timezone' must be a non-empty string"],
  ['get_current_time', { timezone: '' }, "Input validation error: 'timezone' must be a non-empty string"],
  ['get_current_time', { timezone: 'X/Y' }, "Invalid timezone: 'X/Y' is not the name of an IANA time zone"],
  ['convert_time', { ...zones, time: '24:00' }, badTime],
  ['convert_time', { ...zones, time: '09:60' }, badTime],
  ['convert_time', { ...zones, time: '9' }, badTime],
]

for (const [name, args, text] of errors)
  test(`${name} ${JSON.stringify(args)} is an error that says so`, () =>
    assert.deepEqual(callTool(name, args, now()), { content: [{ type: 'text', text }], isError: true }))
