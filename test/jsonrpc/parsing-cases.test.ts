// The public JSON parsing cases: what everybody must accept (y_), must refuse
// (n_), and what implementations differ on (i_), where we do what a strict
// UTF-8 decoder and `JSON.parse` do. The cases are not part of the project.

import assert from 'node:assert/strict'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { FrameError } from '../../src/jsonrpc/jsonrpc-errors.js'
import { Scanner } from '../../src/jsonrpc/scan.js'

const folder = join(process.env['MCPS_SHARED'] ?? join(process.cwd(), '..', 'shared'), 'data', 'json-parsing')
const skip = existsSync(folder) ? false : `there are no parsing cases in ${folder}`

/** What we do with the cases on which implementations differ. */
const implementationDefined: Readonly<Record<string, boolean>> = {
  'i_number_double_huge_neg_exp.json': true,
  'i_number_huge_exp.json': true,
  'i_number_neg_int_huge_exp.json': true,
  'i_number_pos_double_huge_exp.json': true,
  'i_number_real_neg_overflow.json': true,
  'i_number_real_pos_overflow.json': true,
  'i_number_real_underflow.json': true,
  'i_number_too_big_neg_int.json': true,
  'i_number_too_big_pos_int.json': true,
  'i_number_very_big_negative_int.json': true,
  'i_object_key_lone_2nd_surrogate.json': true,
  'i_string_1st_surrogate_but_2nd_missing.json': true,
  'i_string_1st_valid_surrogate_2nd_invalid.json': true,
  'i_string_UTF-16LE_with_BOM.json': false,
  'i_string_UTF-8_invalid_sequence.json': false,
  'i_string_UTF8_surrogate_U+D800.json': false,
  'i_string_incomplete_surrogate_and_escape_valid.json': true,
  'i_string_incomplete_surrogate_pair.json': true,
  'i_string_incomplete_surrogates_escape_valid.json': true,
  'i_string_invalid_lonely_surrogate.json': true,
  'i_string_invalid_surrogate.json': true,
  'i_string_invalid_utf-8.json': false,
  'i_string_inverted_surrogates_U+1D11E.json': true,
  'i_string_iso_latin_1.json': false,
  'i_string_lone_second_surrogate.json': true,
  'i_string_lone_utf8_continuation_byte.json': false,
  'i_string_not_in_unicode_range.json': false,
  'i_string_overlong_sequence_2_bytes.json': false,
  'i_string_overlong_sequence_6_bytes.json': false,
  'i_string_overlong_sequence_6_bytes_null.json': false,
  'i_string_truncated-utf-8.json': false,
  'i_string_utf16BE_no_BOM.json': false,
  'i_string_utf16LE_no_BOM.json': false,
  'i_structure_500_nested_arrays.json': true,
  'i_structure_UTF-8_BOM_empty_object.json': false,
}

/** Beyond every case but the deliberate bombs, which are refused either way. */
const DEPTH_MAX = 1000

function scans(bytes: Buffer): boolean {
  try {
    const scanner = new Scanner(bytes, DEPTH_MAX)
    scanner.finish(scanner.value(scanner.skipSpace(0), 0))
    return true
  } catch (error) {
    if (error instanceof FrameError) return false
    throw error
  }
}

function parses(bytes: Buffer): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes))
    return true
  } catch {
    return false
  }
}

function cases(kind: string): [name: string, bytes: Buffer][] {
  const names = readdirSync(folder).filter((name) => name.startsWith(kind) && name.endsWith('.json'))
  assert.ok(names.length > 0)
  return names.map((name) => [name, readFileSync(join(folder, name))])
}

test('what must be accepted is accepted', { skip }, () => {
  for (const [name, bytes] of cases('y_')) assert.equal(scans(bytes), true, name)
})

test('what must be refused is refused', { skip }, () => {
  for (const [name, bytes] of cases('n_')) assert.equal(scans(bytes), false, name)
})

test('what implementations differ on is decided as JSON.parse decides it', { skip }, () => {
  const found = cases('i_')
  assert.deepEqual(found.map(([name]) => name).sort(), Object.keys(implementationDefined).sort())
  for (const [name, bytes] of found) {
    assert.equal(scans(bytes), implementationDefined[name], name)
    assert.equal(parses(bytes), implementationDefined[name], name)
  }
})
