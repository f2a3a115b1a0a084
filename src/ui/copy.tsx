// A button that copies a text.

import type { JSX } from 'preact'
import { useState } from 'preact/hooks'

export function Copy({ what, text }: { readonly what: string; readonly text: string }): JSX.Element {
  const [state, setState] = useState('')
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setState(' (copied)'),
      () => setState(' (the browser refuses it)'),
    )
  }
  return (
    <button type="button" onClick={copy}>
      {`Copy ${what}${state}`}
    </button>
  )
}
