// Every runtime must run code in a session like this.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { at } from '../integration/support/json.js'
import type { Scope } from '../support/scope.js'
import type { SandboxClient } from './support/sandbox.js'

/** The same things, said in one language. */
export interface CodeSamples {
  readonly template: string
  /** `x` is 41; shows nothing. */
  readonly set: string
  /** Shows `x + 1`. */
  readonly get: string
  /** `out` on the one stream, `err` on the other, and then a mistake that says `nope`. */
  readonly mistake: string
  /** Writes `before` and never ends. */
  readonly endless: string
  /** Shows a text with a character beyond 16 bits. */
  readonly text: readonly [code: string, shown: string]
  /** Makes the file `a.txt` in a new folder for artifacts. */
  readonly artifact: string
}

export const pythonSamples: CodeSamples = {
  template: 'python',
  set: 'x = 41',
  get: 'x + 1',
  mistake: 'import sys\nprint("out")\nprint("err", file=sys.stderr)\nnope',
  endless: 'print("before", flush=True)\nwhile True: pass',
  text: ['"\u{1f600}\\nü"', "'\u{1f600}\\nü'\n"],
  artifact: 'import os\nos.mkdir("artifacts")\nopen("artifacts/a.txt", "w").close()',
}

export const nodeSamples: CodeSamples = {
  template: 'node',
  set: 'const x = 41;',
  get: 'x + 1',
  mistake: 'console.log("out"); console.error("err"); nope()',
  endless: 'console.log("before"); while (true) {}',
  text: ['"\u{1f600}\\nü"', "'\u{1f600}\\nü'\n"],
  artifact: 'fs.mkdirSync("artifacts"); fs.writeFileSync("artifacts/a.txt", "")',
}

/** The tests of one language on one runtime; `open` gives a client of a service. */
export function codeContract(
  title: string,
  open: (t: Scope) => Promise<SandboxClient>,
  samples: CodeSamples,
): void {
  const { template } = samples

  describe(`${title}: code`, () => {
    test('keeps its variables in a session, and shares none with another', async (t) => {
      const sandbox = await open(t)
      const first = await sandbox.code(samples.set, { session_id: 'a', template })
      assert.deepEqual([first.text, first.of('code_success'), first.message], ['', true, ''])
      assert.equal((await sandbox.code(samples.get, { session_id: 'a' })).text, '42\n')
      const other = await sandbox.code(samples.get, { session_id: 'b', template })
      assert.equal(other.of('code_success'), false)
      await sandbox.call('stop_session', { session_id: 'a' })
      const anew = await sandbox.code(samples.get, { session_id: 'a', template })
      assert.deepEqual([anew.of('session_created'), anew.of('code_success')], [true, false])
    })

    test('has two streams, and goes on after a mistake', async (t) => {
      const sandbox = await open(t)
      const call = { session_id: 'a', template }
      await sandbox.code(samples.set, call)
      const { value } = await sandbox.code(samples.mistake, call)
      const result = at(value, 'result', 'structuredContent')
      assert.equal(at(result, 'stdout'), 'out\n')
      assert.match(String(at(result, 'stderr')), /^err\n[^]*nope/)
      assert.equal(at(result, 'code_success'), false)
      assert.equal((await sandbox.code(samples.get, call)).text, '42\n')
    })

    test('keeps its text as it is', async (t) => {
      const [code, shown] = samples.text
      assert.equal((await (await open(t)).code(code, { template })).text, shown)
    })

    test('that takes too long is ended, with its output, and the error says what is left', async (t) => {
      const sandbox = await open(t)
      const call = { session_id: 'a', template }
      await sandbox.code(samples.set, call)
      const late = await sandbox.code(samples.endless, { ...call, timeout: 3 })
      assert.equal(
        late.message,
        `Code execution failed: timed out after 3 s; variables are kept; its output until then ends with:\nbefore\n${late.message.split('before\n')[1] ?? ''}`,
      )
      const next = await sandbox.code(samples.get, call)
      assert.deepEqual([next.text, next.of('sandbox_restarted')], ['42\n', false])
    })

    test('tells of its artifacts', async (t) => {
      const { value } = await (await open(t)).code(samples.artifact, { template })
      assert.equal(at(value, 'result', 'artifacts', 0, 'path'), 'artifacts/a.txt')
    })
  })
}
