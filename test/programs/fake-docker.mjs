// A container engine without containers: it takes the documented command line and writes down what it was asked.
//
// usage: node fake-docker.mjs FOLDER ARGUMENT...
//
// FOLDER has `asked` (one JSON array a line), and may have `refuses` (what `run` says before it fails), `down` (there is no
// engine), `images` and `names` (what there is, one a line). A program of `exec` runs here, in the folder that is bound to /workspace.

import { spawn } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = '', ...args] = process.argv.slice(2)
const file = (name) => join(folder, name)
const lines = (name) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8').split('\n') : [])
appendFileSync(file('asked'), `${JSON.stringify(args)}\n`)

function fail(code, words) {
  process.stderr.write(`${words}\n`)
  process.exitCode = code
}

function run() {
  if (existsSync(file('refuses'))) return fail(125, readFileSync(file('refuses'), 'utf8'))
  const [, bound] = /source=([^,]+),target=\/workspace/.exec(args.join(' ')) ?? []
  writeFileSync(file(`bound-${args[args.indexOf('--name') + 1]}`), bound)
  process.stdout.write('ready\n')
  process.stdin.resume()
}

function exec() {
  const env = { PATH: process.env.PATH }
  let at = 2
  for (; args[at] === '--env'; at += 2) {
    const [name, value] = args[at + 1].split('=')
    env[name] = value ?? process.env[name]
  }
  const [name, program, ...rest] = args.slice(at)
  const bound = readFileSync(file(`bound-${name}`), 'utf8')
  const inside = rest.map((each) => each.replace(/^\/workspace/, bound))
  const child = spawn(program, inside, { stdio: 'inherit', env })
  child.on('exit', (code, signal) => process.exit(signal === null ? code : 137))
}

if (existsSync(file('down')))
  fail(1, "Cannot connect to the Docker daemon.\n\nRun 'docker run --help' for more information")
else if (args[0] === 'run') run()
else if (args[0] === 'exec') exec()
else if (args[0] === 'ps') process.stdout.write(lines('names').join('\n'))
else if (args[0] === 'image') process.exitCode = lines('images').includes(args.at(-1)) ? 0 : 1
else if (args[0] !== 'rm') fail(125, `unknown command: ${args[0]}`)
