// Opens the audit of a configuration, in a file or on stderr.

import type { AuditConfig } from '../config/configuration.js'
import { type LogStream, LineStream } from '../log/log.js'
import { RotatingFile, type RotatingFileOptions } from '../log/rotating-file.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { Audit, type AuditContext, gapLine } from './audit.js'

export interface AuditParts {
  readonly log: LogSink
  readonly stderr: LogStream
  readonly mayBeStdout?: boolean
  readonly clean: AuditContext['clean']
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>
  /** Replaces the file system in tests. */
  readonly append?: RotatingFileOptions['append']
}

/** Opens the audit, and creates its file with mode 0600. A file that cannot be written is an error in the log. */
export function openAudit({ file, ...config }: AuditConfig, parts: AuditParts): Audit {
  const { runtime, clean, log, append, mayBeStdout = false } = parts
  const context = { wallNow: () => runtime.wallNow(), clean }
  const lost = (lines: number): string => gapLine(context, lines)
  if (file === undefined) return new Audit(new LineStream(parts.stderr, lost), config, context)
  const sink = new RotatingFile({
    path: file,
    what: 'audit file',
    maxSizeBytes: config.maxSizeBytes,
    maxFiles: config.maxFiles,
    mayBeStdout,
    onTrouble: (message) => log({ level: 'error', message }),
    gapLine: lost,
    append,
    clock: runtime,
  })
  return new Audit(sink, config, context)
}
