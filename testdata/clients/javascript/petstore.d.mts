/** Whatever calls f when a test ends, such as the t of node:test. The log is shown unless it has passed. */
export interface Test {
  after(f: () => void): unknown
  readonly passed?: boolean
}
export interface Server {
  readonly url: string
  /** The requests that have had a response, such as "GET /pets 200", without preflights. */
  requests(): Promise<string[]>
  /** Stops the server, and resolves to all its requests, also those whose client has gone. */
  stop(): Promise<string[]>
  /** The times of performance.now() at which these were logged. */
  readonly times: number[]
}
/** Starts the program petstore, which must be on the PATH, with these flags. */
export default function petstore(t: Test, ...flags: string[]): Promise<Server>
