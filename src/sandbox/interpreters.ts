// How the interpreter of a language is started so that it runs one piece of code after the other.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { programFolder } from '../folder.js'
import { quote } from '../jsonrpc/text.js'
import type { GuestCommand, GuestProcess, Machine, SandboxLanguage } from './runtime.js'

/** What to start, and what it reads first. */
interface InterpreterStart {
  readonly command: GuestCommand
  readonly first: string
}

/** Reads the driver from stdin, of which it keeps a copy: programs of the session read nothing there. */
const PYTHON_LOADER =
  "import os;requests=os.fdopen(os.dup(0),'rb');__file__='<driver>';exec(compile(eval(requests.readline()),__file__,'exec'))"

/** Node cannot move its stdin, so that a shell does, which is gone when Node runs. */
const NODE_SHELL = 'exec "$@" 3<&0 </dev/null'

/** Starts the interpreter of a machine. */
export function startInterpreter(language: SandboxLanguage, machine: Machine): GuestProcess {
  const { command, first } = interpreterStart(language, machine)
  const started = machine.run(command)
  started.stdin.on('error', () => undefined)
  started.stdin.write(first)
  return started
}

function interpreterStart(language: SandboxLanguage, machine: Machine): InterpreterStart {
  const [program, ...args] = machine.interpreter
  switch (language) {
    case 'python':
      return {
        command: { program, args: [...args, '-c', PYTHON_LOADER] },
        first: `${quote(driver('python-driver.py'))}\n`,
      }
    case 'node':
      return {
        command: {
          program: 'sh',
          args: [
            '-c',
            NODE_SHELL,
            'sh',
            program,
            ...args,
            '--disable-warning=ExperimentalWarning',
            '--input-type=module',
            '-e',
            driver('node-driver.js'),
          ],
        },
        first: '',
      }
  }
}

/** A program for the inside, beside the compiled one; a session starts seldom enough to read it each time. */
function driver(name: string): string {
  return readFileSync(join(programFolder, 'sandbox', 'guest', name), 'utf8')
}
