// What a file is, by its name.

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv',
  gif: 'image/gif',
  htm: 'text/html',
  html: 'text/html',
  jpeg: 'image/jpeg',
  jpg: 'image/jpeg',
  js: 'text/javascript',
  json: 'application/json',
  md: 'text/markdown',
  pdf: 'application/pdf',
  png: 'image/png',
  py: 'text/x-python',
  svg: 'image/svg+xml',
  txt: 'text/plain',
  webp: 'image/webp',
  xml: 'application/xml',
  zip: 'application/zip',
}

export function mimeTypeOf(path: string): string {
  const [, ending = ''] = /\.([A-Za-z0-9]+)$/.exec(path) ?? []
  const key = ending.toLowerCase()
  return Object.hasOwn(types, key) ? (types[key] ?? '') : 'application/octet-stream'
}
