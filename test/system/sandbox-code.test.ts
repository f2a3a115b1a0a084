// Code in machines of bubblewrap: what it must do wherever it runs.

import { memoryPair } from '../../src/index.js'
import { SandboxService } from '../../src/sandbox/service.js'
import { clientOf } from '../integration/support/library.js'
import { codeContract, nodeSamples, pythonSamples } from '../sandbox/code-contract.js'
import { SandboxClient, settingsOf } from '../sandbox/support/sandbox.js'
import type { Scope } from '../support/scope.js'
import { sandboxScene } from './support/sandbox-scene.js'

const scene = sandboxScene('root')

async function open(t: Scope): Promise<SandboxClient> {
  const sandbox = await scene.bubblewrap()
  const settings = settingsOf({ runtime: 'bubblewrap' })
  const parts = { settings, runtime: scene.runtime, log: () => undefined }
  const service = new SandboxService(parts, sandbox, await sandbox.probe())
  t.after(() => service.close())
  const [near, far] = memoryPair()
  void service.serve(far)
  return new SandboxClient(clientOf(near))
}

codeContract('bubblewrap, Python', open, pythonSamples)
codeContract('bubblewrap, Node', open, nodeSamples)
