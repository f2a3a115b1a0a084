// The environment variables of a sandbox, for what its section does not say.

import type { Environment } from './configuration.js'
import { readJson } from './json-syntax.js'
import type { Findings } from './problems.js'
import { type SandboxValues, sandboxFields, sandboxVariables } from './sandbox-fields.js'
import type { Section } from './section.js'
import { switchOf } from './switch.js'

interface Variable {
  readonly name: string
  readonly written: string
  readonly findings: Findings
}

/** The values of the variables whose keys the section does not have. */
export function readSandboxVariables(section: Section, env: Environment): Partial<SandboxValues> {
  const values: Partial<SandboxValues> = {}
  for (const [key, name] of sandboxVariables) {
    const written = env[name]?.trim() ?? ''
    if (section.has(key) || written === '') continue
    const value = valueOf(key, { name, written, findings: section.findings })
    const spot = { path: `$${name}`, findings: section.findings }
    const read = value === undefined ? undefined : sandboxFields[key].kind.read(value, spot)
    if (read !== undefined) Object.assign(values, { [key]: read })
  }
  return values
}

/** What the text of a variable is as JSON. */
function valueOf(key: keyof SandboxValues, { name, written, findings }: Variable): unknown {
  if (key === 'volumes') return volumesOf(written)
  if (key === 'enableLruEviction') return switchOf(name, written, findings)
  return key !== 'apiKey' && /^-?\d+(?:\.\d+)?$/.test(written) ? Number(written) : written
}

/** A JSON array, a list with commas, or one folder. */
function volumesOf(written: string): unknown {
  if (!/^[[{"]/.test(written)) return written.split(',').map((part) => part.trim())
  const json = readJson(written)
  return json.kind === 'value' ? json.value : written
}
