// The client of docs/testing.md with the bug that BUG is: other options.
import correct from './correct.mjs'

export default correct.extend(JSON.parse(process.env.BUG || '{}'))
