// Names whose values are secrets: of variables, options, header fields, parameters of addresses, and members of JSON.
//
// A name is compared word by word, so `api_key` and `authToken` count, and `tokenizer` and `keyboard` do not.

const secretWords: ReadonlySet<string> = new Set(
  `password passwords passwd passphrase passcode pass pwd secret secrets token credential credentials
  authorization auth cookie cookies jwt pat apikey apikeys accesskey privatekey secretkey authkey
  accesstoken authtoken refreshtoken clientsecret`.split(/\s+/),
)

/** Words that make a secret of the word `key` behind them. */
const keyWords: ReadonlySet<string> = new Set(
  'api access private secret client auth signing encryption license service master account ssh shared'.split(
    ' ',
  ),
)

/** Ends of names that stand for no secret: they correlate and page. */
const publicName = /(?:progress|page|cursor|continuation)[_-]?token$/i

/** Parts of the names above: a text without any of them has no secret name. */
export const secretNamePart: RegExp = /pass|pwd|secret|token|credential|auth|cookie|jwt|pat|key/i

/** Whether a value under this name is a secret. */
export function isSecretName(name: string): boolean {
  if (publicName.test(name)) return false
  const words = wordsOf(name)
  return words.some((word, at) => {
    if (word !== 'key' && word !== 'keys') return secretWords.has(word)
    // A variable such as OPENAI_KEY holds a key of that service.
    const isVariable = at === words.length - 1 && at > 0 && name === name.toUpperCase()
    return isVariable || keyWords.has(words[at - 1] ?? '')
  })
}

/** Whether the value of such a parameter of an address is a secret; some servers take a plain `key` there. */
export function isSecretParameter(name: string): boolean {
  return (
    isSecretName(name) ||
    wordsOf(name).some((word) => /^(?:key|code|sig|signature|session|sessionid)$/.test(word))
  )
}

function wordsOf(name: string): string[] {
  const split = name.replaceAll(/([a-z\d])(?=[A-Z])|([A-Z])(?=[A-Z][a-z])/g, '$1$2 ')
  return split.toLowerCase().split(/[^a-z\d]+/)
}
