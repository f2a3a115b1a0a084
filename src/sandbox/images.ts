// The images of templates, for runtimes that have images.

import type { SandboxLanguage } from './runtime.js'

/** What a template says of its image. */
export interface TemplateImage {
  readonly language: SandboxLanguage
  readonly image: string | undefined
}

/** Those of the languages, where a template names none. */
const usualImages: Readonly<Record<SandboxLanguage, string>> = {
  python: 'python:3-slim',
  node: 'node:22-slim',
}

/** What every image has that can be used. */
const interpreters: Readonly<Record<SandboxLanguage, string>> = { python: 'python3', node: 'node' }

export function imageOf({ language, image }: TemplateImage): string {
  return image ?? usualImages[language]
}

/** Those of these templates, or of the languages. */
export function imagesOf(templates: readonly TemplateImage[]): string[] {
  return [...new Set(templates.length === 0 ? Object.values(usualImages) : templates.map(imageOf))]
}

export function interpreterIn(language: SandboxLanguage): string {
  return interpreters[language]
}
