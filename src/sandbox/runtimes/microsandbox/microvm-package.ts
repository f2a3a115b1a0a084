// What is used of the package of microsandbox, from version 0.6 on.

/** The package, or what stands in for it. */
export interface MicrovmPackage {
  readonly Sandbox: {
    builder(name: string): MicrovmBuilder
    /** Removes the record of one that has stopped. */
    remove(name: string): Promise<void>
    list(): Promise<{ readonly sandboxes: readonly { readonly name: string; destroy(): Promise<void> }[] }>
  }
}

export interface MicrovmBuilder {
  image(reference: string): this
  cpus(count: number): this
  /** In MiB. */
  memory(size: number): this
  pullPolicy(policy: 'never'): this
  disableNetwork(): this
  /** Its record is removed with it. */
  ephemeral(isEphemeral: boolean): this
  workdir(path: string): this
  volume(guestPath: string, configure: (mount: MicrovmMount) => MicrovmMount): this
  create(): Promise<Microvm>
}

export interface MicrovmMount {
  bind(hostPath: string): this
  readonly(): this
  nosuid(): this
  nodev(): this
  /** How much the guest may add, in MiB. */
  quota(size: number): this
}

/** A virtual machine that has booted. */
export interface Microvm {
  execStreamWith(
    program: string,
    configure: (options: MicrovmExecOptions) => MicrovmExecOptions,
  ): Promise<MicrovmExec>
  kill(): Promise<void>
  destroy(): Promise<void>
  waitUntilStopped(): Promise<unknown>
}

export interface MicrovmExecOptions {
  args(list: string[]): this
  envs(variables: Record<string, string>): this
  stdinPipe(): this
}

export type MicrovmEvent =
  | { readonly kind: 'started'; readonly pid: number }
  | { readonly kind: 'stdout' | 'stderr'; readonly data: Uint8Array }
  | { readonly kind: 'exited'; readonly code: number }

/** A program that was started inside. */
export interface MicrovmExec {
  /** Null once everything was told. */
  recv(): Promise<MicrovmEvent | null>
  takeStdin(): Promise<{ write(data: Uint8Array): Promise<void>; close(): Promise<void> } | null>
  signal(number: number): Promise<void>
}
