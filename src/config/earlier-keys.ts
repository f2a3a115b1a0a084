// Keys of earlier versions, with what to write in their place. A file that still has one starts, with a warning.

export const earlierKeys: ReadonlyMap<string, string> = new Map([
  ['spare', 'a session starts in a tenth of a second, so no machine is kept ready; take it out'],
  ['pins', 'files outlive a session in a folder of "volumes"; take it out'],
  ['otlp', 'the variable OTEL_EXPORTER_OTLP_ENDPOINT names a collector; take it out'],
  ['listTtl', 'clients are told that lists are out of date at once; take it out'],
])
