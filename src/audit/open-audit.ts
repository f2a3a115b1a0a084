// The audit of a configuration: in a file, or on stderr.

import type { AuditConfig } from '../config/configuration.js'
import { type LogStream, LineStream } from '../log/log.js'
import { RotatingFile, type RotatingFileOptions } from '../log/rotating-file.js'
import { within } from '../runtime/deadline.js'
import type { LogSink, Runtime } from '../runtime/runtime.js'
import { Audit, type AuditContext, type AuditSink, gapLine } from './audit.js'

/** How long `close` waits for a disk. */
const FLUSH_MS_MAX = 2000

export interface AuditParts {
  readonly log: LogSink
  readonly stderr: LogStream
  readonly mayBeStdout?: boolean
  readonly clean: AuditContext['clean']
  readonly runtime: Pick<Runtime, 'now' | 'wallNow' | 'setTimer'>
  /** Takes the place of the file system. */
  readonly append?: RotatingFileOptions['append']
}

/** Opens the file, which is created with mode 0600; one that cannot be written is an error in the log. */
export function openAudit(config: AuditConfig, parts: AuditParts): Audit {
  const { runtime, clean } = parts
  const context = { wallNow: () => runtime.wallNow(), clean }
  const sink =
    config.file === undefined
      ? new LineStream(parts.stderr, (lost) => gapLine(context, lost))
      : fileSink(config, config.file, parts, context)
  return new Audit(sink, config, context)
}

function fileSink(
  { maxSizeBytes, maxFiles, onError }: AuditConfig,
  path: string,
  { log, append, runtime, mayBeStdout }: AuditParts,
  context: AuditContext,
): AuditSink {
  const file = new RotatingFile({
    path,
    what: 'audit file',
    maxSizeBytes,
    maxFiles,
    ...(mayBeStdout !== undefined && { mayBeStdout }),
    onTrouble: (message) => log({ level: 'error', message }),
    gapLine: (lost) => gapLine(context, lost),
    keepsLines: onError === 'refuse',
    ...(append !== undefined && { append }),
  })
  return {
    write: (line) => file.write(line),
    get isWritable() {
      return file.isWritable
    },
    get lost() {
      return file.lost
    },
    close: () => within(file.close(), FLUSH_MS_MAX, runtime),
  }
}
