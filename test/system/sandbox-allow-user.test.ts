// The same on machines made by an ordinary user.

import { sandboxScene } from './support/sandbox-scene.js'
import { allowedHostsHold } from './support/sandbox-egress.js'

allowedHostsHold('bubblewrap of an ordinary user', sandboxScene('user'))
