// The line of what is awaited, below everything else, and gone in the end.

import { strict as assert } from 'node:assert'
import { test } from 'node:test'
import { Screen, canErase } from '../../src/cli/console.js'

/** What is seen on a terminal of this width, line by line. */
function shown(columns: number, isShown = true) {
  let written = ''
  const terminal = {
    columns,
    writableLength: 0,
    write: (text: string) => {
      written += text
      return true
    },
  }
  const lines = (): string[] =>
    written.split('\n').map((line) => line.slice(line.lastIndexOf('\u001b[2K') + 1).replace('[2K', ''))
  return { screen: new Screen(terminal, isShown), lines, raw: () => written }
}

test('names what is awaited, stays below what is written, and goes when all is there', () => {
  const { screen, lines } = shown(80)
  screen.await('a')
  screen.await('b')
  assert.deepEqual(lines(), ['waiting for a, b'])
  screen.write('a line\n')
  assert.deepEqual(lines(), ['a line', 'waiting for a, b'])
  screen.settle('a')
  assert.deepEqual(lines(), ['a line', 'waiting for b'])
  screen.settle('b')
  assert.deepEqual(lines(), ['a line', ''])
  screen.write('more\n')
  assert.deepEqual(lines(), ['a line', 'more', ''])
})

test('makes way for lines of others, and is back with the next line', () => {
  const { screen, lines } = shown(80)
  screen.await('a')
  screen.makeWay()
  assert.deepEqual(lines(), [''])
  screen.makeWay()
  screen.write('a line\n')
  assert.deepEqual(lines(), ['a line', 'waiting for a'])
})

test('is not wider than the terminal, and no name gets raw to it', () => {
  const { screen, lines, raw } = shown(20)
  screen.await('\u001b[31mred')
  screen.await('another one')
  assert.equal(lines()[0]?.length, 19)
  assert.equal(raw().includes('\u001b[31m'), false)
})

test('is gone at the end', () => {
  const { screen, lines } = shown(80)
  screen.await('a')
  screen.close()
  assert.deepEqual(lines(), [''])
})

test('shows nothing where nobody can see it', () => {
  const { screen, raw } = shown(80, false)
  screen.await('a')
  screen.write('a line\n')
  screen.close()
  assert.equal(raw(), 'a line\n')
  assert.deepEqual(
    [canErase(true, {}), canErase(true, { TERM: 'dumb' }), canErase(false, { TERM: 'xterm' })],
    [true, false, false],
  )
})
