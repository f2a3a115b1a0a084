// Fetches the secrets that a configuration refers to.

import type { Readable } from 'node:stream'
import {
  type InputConfig,
  type NotedReferences,
  type ReferencesAbout,
  type Resolution,
  type SecretReference,
  referenceText,
  wordsOf,
} from '../config/references.js'
import { readTextFile } from '../runtime/read-file.js'
import { realRuntime } from '../real-runtime.js'
import type { Runtime } from '../runtime/runtime.js'
import { escapeText, inShell } from '../text/escape.js'
import { SecretStore, SecretStoreError } from './store.js'

/** The longest secret, in bytes of a file or UTF-16 units of an output. Tokens and certificates are shorter. */
const LENGTH_MAX = 64 * 1024

/** How long a program may take, which may ask a service or a fingerprint reader. */
const PROGRAM_MS = 10_000

export interface Fetching {
  /** The file of the secrets that were set. */
  readonly secretsFile: string
  /** The real one unless given. */
  readonly runtime?: Runtime | undefined
  /** Absent without a terminal. */
  readonly ask?: AskInput | undefined
  /** Whether the programs of `${cmd:…}` are started; otherwise these stay unresolved. */
  readonly runsPrograms: boolean
}

/** Asks a person for the value of an input; undefined when there is none. */
export type AskInput = (input: InputConfig) => Promise<string | undefined>

interface Sources {
  readonly runtime: Runtime
  readonly store: SecretStore
  readonly about: ReferencesAbout
  /** Undefined without a terminal. */
  readonly ask: AskInput | undefined
}

/** Fetches every secret that was noted and is not there yet: all at the same time, but for what a person is asked. */
export async function fetchPending(
  references: NotedReferences,
  { secretsFile, runtime: given, ask, runsPrograms }: Fetching,
): Promise<void> {
  const own = realRuntime()
  const runtime = given ?? own
  try {
    const sources = { runtime, ask, about: references.about, store: new SecretStore(secretsFile, runtime) }
    const isFetched = ({ form }: SecretReference): boolean => form !== 'cmd' || runsPrograms
    const fetch = async (each: SecretReference): Promise<void> =>
      references.settle(each, isFetched(each) ? await fetchSecret(each, sources) : undefined)
    const { pending } = references
    await Promise.all(pending.filter(({ form }) => form !== 'input').map(fetch))
    for (const each of pending) if (each.form === 'input') await fetch(each)
  } finally {
    await own.close()
  }
}

/** Fetches one secret; a secret that is not there is no error. */
async function fetchSecret(reference: SecretReference, sources: Sources): Promise<Resolution> {
  try {
    const resolution = await fetchers[reference.form](reference, sources)
    return resolution.kind === 'value' && resolution.value.includes('\0')
      ? failed(`${referenceText(reference)} has a NUL character`)
      : resolution
  } catch (error) {
    if (error instanceof SecretStoreError) return failed(`${referenceText(reference)}: ${error.message}`)
    throw error
  }
}

type Fetcher = (reference: SecretReference, sources: Sources) => Resolution | Promise<Resolution>

const fetchers: Readonly<Record<SecretReference['form'], Fetcher>> = {
  file: (reference) => {
    const file = readTextFile(reference.name, LENGTH_MAX)
    return file.kind === 'read'
      ? found(withoutLastBreak(file.text))
      : failed(`${referenceText(reference)}: ${file.why}`)
  },
  cmd: outputOf,
  keyring: async ({ name }, { store }) => {
    const value = await store.get(name)
    return value === undefined
      ? failed(`the secret ${name} is not set; run mcps-proxy secret set ${inShell(name)}`)
      : found(value)
  },
  input: askedFor,
}

function found(value: string): Resolution {
  return { kind: 'value', value }
}

function failed(why: string): Resolution {
  return { kind: 'failed', why: escapeText(why) }
}

function withoutLastBreak(text: string): string {
  return text.replace(/\r?\n$/, '')
}

async function askedFor({ name: id }: SecretReference, { store, about, ask }: Sources): Promise<Resolution> {
  const kept = await store.get(id)
  if (kept !== undefined) return found(kept)
  const input = about.inputs.find((each) => each.id === id)
  const value = input === undefined || input.type === 'command' ? undefined : await ask?.(input)
  if (value !== undefined) {
    await store.set(id, value)
    return found(value)
  }
  const what = input?.description === undefined ? '' : ` (${input.description})`
  return failed(`the input ${id}${what} has no value; run mcps-proxy secret set ${inShell(id)}`)
}

/** The output of a program that is started without a shell, with the environment of the proxy and the PATH of `about`. */
async function outputOf(reference: SecretReference, { runtime, about }: Sources): Promise<Resolution> {
  const text = referenceText(reference)
  const [command, ...args] = wordsOf(reference.name) ?? []
  if (command === undefined) return failed(`${text} names no program, or has a quote that does not end`)
  const env = Object.fromEntries(
    Object.entries({ ...runtime.env, ...about.env }).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value]],
    ),
  )
  const child = runtime.spawn({ command, args, cwd: about.folder, env })
  child.stdin.on('error', () => undefined).end()
  let isLate = false
  const timer = runtime.setTimer(PROGRAM_MS, () => {
    isLate = true
    child.signal('SIGKILL')
    // A daemon that the program has started may keep these open.
    child.stdout.destroy()
    child.stderr.destroy()
  })
  const [output, errors, { code, signal, spawnError }] = await Promise.all([
    textOf(child.stdout),
    textOf(child.stderr),
    child.exited,
  ])
  timer.cancel()
  if (spawnError !== undefined) return failed(`${text} cannot be started: ${spawnError}`)
  if (isLate) return failed(`${text} did not end within ${PROGRAM_MS / 1000} s`)
  const last = errors.trimEnd().split('\n').at(-1) ?? ''
  const words = last === '' ? '' : `: ${last}`
  if (code !== 0) return failed(`${text} ended with ${signal ?? `exit code ${code}`}${words}`)
  if (output.length > LENGTH_MAX) return failed(`${text} printed more than ${LENGTH_MAX} characters`)
  const value = withoutLastBreak(output)
  return value === '' ? failed(`${text} printed nothing${words}`) : found(value)
}

/** Resolves at the end of the stream, with what came last of a text that is too long. */
function textOf(stream: Readable): Promise<string> {
  return new Promise((resolve) => {
    let text = ''
    stream.setEncoding('utf8')
    stream.on('data', (chunk: string) => (text = `${text}${chunk}`.slice(-LENGTH_MAX - 1)))
    stream.on('error', () => undefined)
    for (const end of ['end', 'close']) stream.on(end, () => resolve(text))
  })
}
