// The audit: where its lines go, and what is in them.

import type { AuditConfig, LoggingConfig } from './configuration.js'
import { type Kind, boolean, integer, list, size, text } from './kinds.js'
import { type PathBase, absolute } from './paths.js'
import { type FieldsOf, type Rules, Section, field } from './section.js'

export interface AuditValues extends Pick<AuditConfig, 'payloads' | 'methods' | 'maxFiles'> {
  readonly file: string
  readonly maxSize: number
}

export const auditRules: Rules = { required: ['file'] }

/** The name of stderr in the place of a file. */
const STDERR = 'stderr'

export const auditFile: Kind<string> = text({ wanted: 'a file, or "stderr"' })

export const auditFields: FieldsOf<AuditValues> = {
  file: field(auditFile, '', 'The file, JSON lines, or "stderr"; ~ is the home folder.'),
  payloads: field(boolean(), false, 'Whether lines have arguments and results, without secrets.'),
  methods: field(
    list(text()),
    ['tools/call', 'prompts/get', 'resources/read'],
    'The methods of which every call has a line; "*" stands for any characters. Refused calls always have one.',
  ),
  maxSize: field(size(1024, 1024 ** 4), 10 * 1024 ** 2, 'Size at which the file is rotated.'),
  maxFiles: field(integer(1, 1000), 5, 'Files kept in all, the current one included.'),
}

/** Reads `audit`, which may be a file alone; undefined where there is none. */
export function readAudit(
  root: Section,
  base: PathBase,
  logging: Pick<LoggingConfig, 'file'>,
): AuditConfig | undefined {
  const value = root.raw('audit')
  if (value === undefined) return undefined
  const path = root.pathOf('audit')
  const section = Section.of(typeof value === 'string' ? { file: value } : value, path, root.findings)
  if (section === undefined) return undefined
  section.check(auditRules, auditFields)
  const { file, maxSize, ...values } = section.readOnly(auditFields)
  const whole = file === STDERR ? undefined : absolute(file, base)
  if (whole !== undefined && whole === logging.file)
    root.problem('audit', `is "${file}", which is the log file`, 'use another file')
  return { ...values, file: whole, maxSizeBytes: maxSize }
}
