// What is used of the packages with WebAssembly, so that the sources compile where nobody has installed them.

declare module '@bjorn3/browser_wasi_shim' {
  interface Written {
    ret: number
    nwritten: number
  }

  export interface Fd {
    fd_read(size: number): { ret: number; data: Uint8Array }
    fd_write(data: Uint8Array): Written
    fd_pwrite(data: Uint8Array, offset: bigint): Written
    fd_allocate(offset: bigint, length: bigint): number
    fd_filestat_set_size(size: bigint): number
  }

  export interface Inode {
    ino: bigint
    path_open(flags: number, rights: bigint, descriptorFlags: number): { ret: number; fd_obj: Fd | null }
    stat(): object
  }
  export const Inode: { issue_ino(): bigint }

  export class File implements Inode {
    ino: bigint
    data: Uint8Array
    constructor(data: Uint8Array | readonly number[])
    get size(): bigint
    path_open: Inode['path_open']
    stat(): object
  }

  export class Directory implements Inode {
    ino: bigint
    contents: Map<string, Inode>
    constructor(contents: Map<string, Inode> | readonly (readonly [string, Inode])[])
    path_open: Inode['path_open']
    stat(): object
  }

  export class OpenFile implements Fd {
    file: File
    file_pos: bigint
    constructor(file: File)
    fd_read: Fd['fd_read']
    fd_write: Fd['fd_write']
    fd_pwrite: Fd['fd_pwrite']
    fd_allocate: Fd['fd_allocate']
    fd_filestat_set_size: Fd['fd_filestat_set_size']
  }

  export class PreopenDirectory implements Fd {
    dir: Directory
    constructor(name: string, contents: Map<string, Inode>)
    fd_read: Fd['fd_read']
    fd_write: Fd['fd_write']
    fd_pwrite: Fd['fd_pwrite']
    fd_allocate: Fd['fd_allocate']
    fd_filestat_set_size: Fd['fd_filestat_set_size']
  }

  /** A device to write to. */
  export class ConsoleStdout implements Fd {
    constructor(write: (chunk: Uint8Array) => void)
    fd_read: Fd['fd_read']
    fd_write: Fd['fd_write']
    fd_pwrite: Fd['fd_pwrite']
    fd_allocate: Fd['fd_allocate']
    fd_filestat_set_size: Fd['fd_filestat_set_size']
  }

  /** A program: `memory` is its own, and `_start` runs it. */
  interface WasiProgram {
    exports: { memory: unknown; _start(): unknown }
  }

  interface WasiCalls {
    path_open: (...args: readonly (number | bigint)[]) => unknown
    poll_oneoff(from: number, to: number, count: number, events: number): number
    clock_time_get(clock: number, precision: bigint, at: number): number
    [name: string]: (...args: never[]) => unknown
  }

  export class WASI {
    fds: (Fd | undefined)[]
    inst: { exports: { memory: { readonly buffer: ArrayBuffer } } }
    wasiImport: WasiCalls
    constructor(args: string[], env: string[], fds: readonly Fd[], options: { debug: boolean })
    /** Gives the exit code. */
    start(program: WasiProgram): number
  }

  interface Subscription {
    userdata: bigint
    eventtype: number
    clockid: number
    /** In nanoseconds. */
    timeout: bigint
    flags: number
  }

  export const wasi: {
    readonly ERRNO_SUCCESS: number
    readonly ERRNO_NOSPC: number
    readonly ERRNO_NOTSUP: number
    readonly FILETYPE_CHARACTER_DEVICE: number
    readonly EVENTTYPE_CLOCK: number
    readonly SUBCLOCKFLAGS_SUBSCRIPTION_CLOCK_ABSTIME: number
    readonly Filestat: new (inode: bigint, type: number, size: bigint) => object
    readonly Subscription: { read_bytes(view: DataView, at: number): Subscription }
    readonly Event: new (
      userdata: bigint,
      error: number,
      type: number,
    ) => { write_bytes(view: DataView, at: number): void }
  }
}

/** One value, which only the next package looks into. */
declare module '@jitl/quickjs-wasmfile-release-sync' {}

declare module 'quickjs-emscripten-core' {
  export interface QuickJSHandle {
    readonly alive: boolean
    dispose(): void
    consume<T>(use: (handle: QuickJSHandle) => T): T
  }

  type Result =
    { readonly value: QuickJSHandle; readonly error?: undefined } | { readonly error: QuickJSHandle }

  type PromiseState =
    | { readonly type: 'pending' }
    | { readonly type: 'fulfilled'; readonly value: QuickJSHandle }
    | { readonly type: 'rejected'; readonly error: QuickJSHandle }

  export interface QuickJSContext {
    readonly runtime: { executePendingJobs(): { readonly error?: QuickJSHandle | undefined } }
    readonly global: QuickJSHandle
    readonly undefined: QuickJSHandle
    newFunction(name: string, call: (...args: [QuickJSHandle, QuickJSHandle]) => void): QuickJSHandle
    getProp(of: QuickJSHandle, name: string): QuickJSHandle
    setProp(of: QuickJSHandle, name: string, value: QuickJSHandle): void
    getNumber(value: QuickJSHandle): number
    getString(value: QuickJSHandle): string
    typeof(value: QuickJSHandle): string
    evalCode(code: string, name: string, how?: { type: 'global' }): Result
    unwrapResult(result: Result): QuickJSHandle
    callFunction(call: QuickJSHandle, self: QuickJSHandle, ...args: QuickJSHandle[]): Result
    getPromiseState(value: QuickJSHandle): PromiseState
  }

  export function newQuickJSWASMModuleFromVariant(variant: Promise<object>): Promise<{
    newRuntime(limits: { memoryLimitBytes: number; maxStackSizeBytes: number }): {
      newContext(): QuickJSContext
    }
  }>
}
