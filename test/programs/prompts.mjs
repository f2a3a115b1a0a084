// Prompts, and the completion of their arguments.

import { serve } from './serve.mjs'

const languages = ['python', 'pytorch', 'perl']

serve({
  name: 'prompts',
  capabilities: { prompts: {}, completions: {}, resources: {} },
  instructions: 'Ask for a review.',
  requests: {
    'prompts/list': () => ({
      prompts: [
        {
          name: 'review',
          title: 'Review',
          description: 'Review some code',
          arguments: [{ name: 'language', required: true }],
        },
      ],
    }),
    'prompts/get': ({ name, arguments: { language } = {} }) => {
      if (language === undefined) throw { code: -32602, message: 'Missing required argument: language' }
      const content = { type: 'text', text: `Please ${name} this ${language}.` }
      return { description: 'Review some code', messages: [{ role: 'user', content }] }
    },
    'resources/list': () => ({ resources: [] }),
    'resources/templates/list': () => ({
      resourceTemplates: [{ uriTemplate: 'lang:///{language}', name: 'language' }],
    }),
    'completion/complete': ({ ref, argument: { value } }) => {
      const values = languages.filter((language) => language.startsWith(value))
      return { completion: { values, total: values.length, hasMore: false }, _meta: { ref } }
    },
  },
})
