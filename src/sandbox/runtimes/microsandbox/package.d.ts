// What is used of the package of microsandbox, so that the sources compile where nobody has installed it.

declare module 'microsandbox' {
  import type { MicrovmPackage } from './microvm-package.js'

  export const Sandbox: MicrovmPackage['Sandbox']
}
