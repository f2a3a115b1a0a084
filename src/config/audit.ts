// The audit: where its lines go, and what is in them.

import { requests, statelessRequests } from '../mcp/methods.js'
import { matcherOf } from '../text/name-patterns.js'
import { nearest } from '../text/nearest.js'
import type { AuditConfig, LoggingConfig } from './configuration.js'
import { type Kind, boolean, choice, integer, list, size, text } from './kinds.js'
import { type PathBase, absolute } from './paths.js'
import { type ValuesOf, type Rules, type Section, field, object, optional } from './section.js'

const auditRules: Rules = { required: ['file'], isClosed: true }

/** The name of stderr in the place of a file. */
const STDERR = 'stderr'

const auditFile: Kind<string> = text({ wanted: 'a file, or "stderr"' })

const auditFields = {
  file: field(auditFile, '', 'The file, JSON lines, or "stderr"; ~ is the home folder.'),
  payloads: field(boolean(), false, 'Whether lines have arguments and results, without secrets.'),
  methods: field(
    list(text()),
    ['tools/call', 'prompts/get', 'resources/read'],
    'The methods of which every call has a line; "*" stands for any characters. Refused calls always have one.',
  ),
  onError: field(
    choice('continue', 'refuse'),
    'continue',
    'What becomes of calls while no line can be written: they go on and lines are lost, or they are refused.',
  ),
  maxSize: field(size(1024, 1024 ** 4), 10 * 1024 ** 2, 'Size at which the file is rotated.'),
  maxFiles: field(integer(1, 1000), 5, 'Files kept in all, the current one included.'),
}

export type AuditValues = ValuesOf<typeof auditFields>

const whole = object(auditFields, `${auditFile.wanted}, or an object`, auditRules)

/** A file alone stands for an object with it. */
const auditKind: Kind<AuditValues> = {
  wanted: whole.wanted,
  schema: { anyOf: [auditFile.schema, { description: 'Where, and what.', ...whole.schema }] },
  read: (value, spot) => whole.read(typeof value === 'string' ? { file: value } : value, spot),
}

/** The key `audit`. */
export const auditField = {
  audit: optional(auditKind, 'A line for each call, in a file or on stderr.'),
}

/** Undefined where there is none. */
export function readAudit(
  root: Section,
  base: PathBase,
  logging: Pick<LoggingConfig, 'file'>,
): AuditConfig | undefined {
  const read = root.read(auditField, 'audit')
  if (read === undefined) return undefined
  const { file, maxSize, ...values } = read
  warnOfIdlePatterns(root, values.methods)
  const path = file === STDERR ? undefined : absolute(file, base)
  if (path !== undefined && path === logging.file)
    root.problem('audit', `is "${file}", which is the log file`, 'use another file')
  return { ...values, file: path, maxSizeBytes: maxSize }
}

/** A misspelled method would leave the audit without lines. Methods of extensions are not known here. */
function warnOfIdlePatterns(root: Section, patterns: readonly string[]): void {
  const methods = [...requests.keys(), ...statelessRequests.keys()]
  for (const [at, pattern] of patterns.entries()) {
    if (methods.some(matcherOf([pattern]))) continue
    const [near] = nearest(pattern, methods)
    const meant = near === undefined ? '' : `; did you mean "${near}"?`
    root.findings.warn(
      `${root.pathOf('audit')}.methods[${at}]`,
      `is "${pattern}", which fits no method of MCP without extensions${meant}`,
    )
  }
}
