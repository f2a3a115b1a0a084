/** The bytes of text per token of a model: an estimate, which depends on the model and the language. */
export const TOKEN_BYTES = 4
