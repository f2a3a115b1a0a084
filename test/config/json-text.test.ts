import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { addItem, removeMember, setMember } from '../../src/config/json-text.js'

const lines = (...all: readonly string[]): string => `${all.join('\n')}\n`

const cases: [string, string, string][] = [
  ['to an empty object', '{}', '{\n  "m": {\n    "n": {\n      "c": 1\n    }\n  }\n}'],
  ['to an empty object below', '{\n\t"m": {}\n}\n', '{\n\t"m": {\n\t\t"n": {\n\t\t\t"c": 1\n\t\t}\n\t}\n}\n'],
  [
    'behind the comments of an object without members',
    lines('{', '  "m": {', '    // "a": 1', '  }', '}'),
    lines('{', '  "m": {', '    // "a": 1', '    "n": {', '      "c": 1', '    }', '  }', '}'),
  ],
  ['to nothing but an object', '{"m": null}', '{"m": null}'],
  [
    'behind the last one, and its comment',
    lines('{', '  "m": {', '    "a":   [ 1,2 ] // a', '  }', '}'),
    lines('{', '  "m": {', '    "a":   [ 1,2 ], // a', '    "n": {', '      "c": 1', '    }', '  }', '}'),
  ],
  [
    'behind a comma that separates nothing',
    lines('{', '  "m": {', '    "a": 1, /* a */', '  },', '}'),
    lines('{', '  "m": {', '    "a": 1, /* a */', '    "n": {', '      "c": 1', '    },', '  },', '}'),
  ],
  ['on the one line of the others', '{"m": {"a": 1}, "z": 2}', '{"m": {"a": 1, "n": {"c":1}}, "z": 2}'],
  [
    'in front of the comment behind the others',
    '{"m": {"a": 1 // a\n}}',
    '{"m": {"a": 1, "n": {"c":1} // a\n}}',
  ],
  [
    'with the line ends of the file',
    '{\r\n  "m": {}\r\n}',
    '{\r\n  "m": {\r\n    "n": {\r\n      "c": 1\r\n    }\r\n  }\r\n}',
  ],
  ['with its object', '{\n  "z": 1\n}', '{\n  "z": 1,\n  "m": {\n    "n": {\n      "c": 1\n    }\n  }\n}'],
]
for (const [title, text, wanted] of cases)
  test(`a member is added: ${title}`, () => assert.equal(setMember(text, ['m'], 'n', { c: 1 }), wanted))

describe('an item of a list', () => {
  const list = lines('{', '  "l": [', '    "a", // a', '    "b" // b', '  ]', '}')
  test('is added behind the last one', () =>
    assert.equal(
      addItem(list, ['l'], { c: 1 }),
      lines('{', '  "l": [', '    "a", // a', '    "b", // b', '    {', '      "c": 1', '    }', '  ]', '}'),
    ))
  test('is added to an empty list', () =>
    assert.equal(addItem('{"l": []}', ['l'], 'a'), '{"l": [\n  "a"\n]}'))
  test('is removed with its line', () =>
    assert.equal(
      removeMember(list, ['l', 0]),
      lines('{', '  "l": [', '    // a', '    "b" // b', '  ]', '}'),
    ))
  test('is removed with the comma in front of it', () =>
    assert.equal(
      removeMember(list, ['l', 1]),
      lines('{', '  "l": [', '    "a" // a', '    // b', '  ]', '}'),
    ))
})

const removals: [string, string, string][] = [
  [
    'with its line',
    lines('{', '  "a": 1,', '  // of b', '  "n": { },', '  "b": 2', '}'),
    lines('{', '  "a": 1,', '  // of b', '  "b": 2', '}'),
  ],
  [
    'from the end, with the comma in front of it',
    lines('{', '  "a": 1, // a', '  "n": 2', '}'),
    lines('{', '  "a": 1 // a', '}'),
  ],
  [
    'and leaves a comma that the client allows',
    lines('{', '  "a": 1,', '  "n": 2,', '}'),
    lines('{', '  "a": 1,', '}'),
  ],
  ['from the beginning', lines('{', '  "n": 1,', '  "b": 2', '}'), lines('{', '  "b": 2', '}')],
  ['alone', lines('{', '  "n": 1', '}'), lines('{', '}')],
  ['from one line', '{ "a": 1, "n": 2, "b": 3 }', '{ "a": 1, "b": 3 }'],
  ['from the end of one line', '{ "a": 1, "n": 2 }', '{ "a": 1 }'],
  [
    'and keeps the comment behind it',
    lines('{', '  "n": 1, // n', '  "b": 2', '}'),
    lines('{', '  // n', '  "b": 2', '}'),
  ],
  [
    'with several lines and CRLF',
    '{\r\n  "n": {\r\n    "x": 1\r\n  },\r\n  "b": 2\r\n}',
    '{\r\n  "b": 2\r\n}',
  ],
  ['only where it is', '{ "a": 1 }', '{ "a": 1 }'],
]
for (const [title, text, wanted] of removals)
  test(`a member is removed: ${title}`, () => assert.equal(removeMember(text, ['n']), wanted))
