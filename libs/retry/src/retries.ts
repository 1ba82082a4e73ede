/** How a failed operation is retried. */
export interface RetryPolicy {
  /** who retries what */
  readonly what: string;
  /** pause before the second attempt, in milliseconds; doubled for each further one */
  readonly firstMs: number;
  /** longest pause */
  readonly maxMs: number;
  /** maximum number of attempts, including the first; undefined: no limit */
  readonly attempts?: number;
  /** a failure after at least this time resets the count of attempts; undefined: never */
  readonly steadyMs?: number;
  /** time after which no further attempt starts; undefined: no limit */
  readonly withinMs?: number;
  /** the end of the retries, if it is not a number, and the consequence */
  readonly then: string;
}

/**
 * All retries, with their number and limits. Any other failure is an error immediately. Pauses between attempts start
 * at {@link RetryPolicy.firstMs} and double up to {@link RetryPolicy.maxMs}; repeated failures are logged every 5
 * seconds.
 */
export const RETRIES = {
  connect: {
    what: 'every process: its connection to NATS, the first one and after each loss',
    firstMs: 250,
    maxMs: 250,
    then: 'for as long as the process lives; credentials that are refused end the start',
  },
  broker: {
    what: 'every service: an operation on a stream, a bucket or the object store while the broker is away, restarts, or has lost its store',
    firstMs: 100,
    maxMs: 2_000,
    then: 'for as long as the bus is open; streams and buckets that are missing are created again in between',
  },
  bucket: {
    what: 'every service: a request to the S3 bucket of blobs (BLOBS), while it does not answer, is busy or fails',
    firstMs: 200,
    maxMs: 5_000,
    withinMs: 300_000,
    then: 'the operation that needed it fails',
  },
  copies: {
    what: 'every service: a message that one of several broker servers does not have yet',
    firstMs: 20,
    maxMs: 200,
    withinMs: 1_000,
    then: 'it counts as missing',
  },
  consume: {
    what: 'every service: reading the next message of its durable consumer',
    firstMs: 200,
    maxMs: 2_000,
    then: 'for as long as the consumer runs',
  },
  acknowledgement: {
    what: 'every service: an acknowledgement that the broker does not answer, for example while a cluster elects a leader',
    firstMs: 100,
    maxMs: 2_000,
    withinMs: 30_000,
    then: 'the broker redelivers the message, and its work is done twice',
  },
  redelivery: {
    what: 'every service: a message whose handler failed, delivered again by the broker',
    firstMs: 1_000,
    maxMs: 30_000,
    attempts: 5,
    then: 'the message becomes a dead letter, unless its handler says otherwise',
  },
  rollout: {
    what: 'actor: a rollout that could not be played, or whose actor ended (pauses as for any redelivery)',
    firstMs: 1_000,
    maxMs: 30_000,
    attempts: 4,
    then: 'an invalid trajectory with the reason',
  },
  trajectory: {
    what: 'learner: an episode that waits for its batch, redelivered after every restart (pauses as for any redelivery)',
    firstMs: 1_000,
    maxMs: 30_000,
    attempts: 1_000,
    then: 'the message becomes a dead letter',
  },
  request: {
    what: 'a request without a responder, or whose connection was lost',
    firstMs: 200,
    maxMs: 200,
    then: 'until the deadline of the caller; then the reply is a failure with the code `no_responders` or `disconnected`',
  },
  policy: {
    what: 'actor: a request to the policy, idempotent by request id, while the learner does not answer',
    firstMs: 250,
    maxMs: 2_000,
    then: 'until the turn is over (rollout.turn_timeout_ms): the trajectory is invalid, `deadline`',
  },
  outsideSampler: {
    what: 'learner: an answer of a sampling server (samplers `vllm`, `sglang`), from another server if there is one; the failed request is aborted first',
    firstMs: 100,
    maxMs: 2_000,
    attempts: 4,
    then: 'the request has failed, and the actor asks again as above',
  },
  sampler: {
    what: 'learner: an answer of a sampler process (sampler `external`), from another process if there is one; one that died is left out until it reports again',
    firstMs: 50,
    maxMs: 2_000,
    attempts: 8,
    then: 'the request has failed, and the actor asks again as above',
  },
  samplerReport: {
    what: 'sampler: the report of its weights, while the learner does not answer',
    firstMs: 250,
    maxMs: 1_000,
    then: 'until the run is over; the sampler keeps its weights meanwhile',
  },
  samplerWeights: {
    what: 'sampler: an adapter that could not be fetched or loaded; the learner gets the reason',
    firstMs: 5_000,
    maxMs: 5_000,
    then: 'until the learner no longer needs it; other samplers get the requests meanwhile',
  },
  tinker: {
    what: 'engine `tinker`: a request to the service while it fails, is busy, or cannot be reached; requests that change weights are numbered, so that none runs twice',
    firstMs: 500,
    maxMs: 8_000,
    withinMs: 300_000,
    then: 'the engine ends, and the run continues from its newest checkpoint (time limit: engine.retry_ms)',
  },
  endpointPolicy: {
    what: '`ui-rl eval`: an answer of an endpoint that is busy, failed, or cannot be reached; `Retry-After` of the endpoint sets the pause',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 6,
    then: 'the episode is invalid; if the endpoint cannot be reached, the evaluation ends with the results so far',
  },
  judge: {
    what: 'reward `judge`: an answer of its endpoint that is busy, failed, or cannot be reached (`Retry-After` adds to the pause), and an answer without a verdict',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 4,
    then: 'the episode is invalid, with the name of the reward; at the latest at the deadline of the reward (rollout.turn_timeout_ms)',
  },
  environmentOpen: {
    what: 'actor: opening an environment that is full, does not listen yet, is slow or crashed',
    firstMs: 250,
    maxMs: 2_000,
    withinMs: 120_000,
    then: 'the trajectory is invalid, with the code of the last reply',
  },
  environment: {
    what: 'actor: a step or the end of a session, idempotent by step id, while its env service does not answer',
    firstMs: 250,
    maxMs: 250,
    then: 'after 8 s without a listener, or 2 s beyond the deadline of the step without an answer: the session is lost',
  },
  episode: {
    what: 'actor: an episode whose session was lost, from its first frame',
    firstMs: 0,
    maxMs: 0,
    attempts: 3,
    then: 'the trajectory is invalid, with the code of the last failure',
  },
  browserPage: {
    what: 'environment `browser`: a page that was gone before its episode began, with another page',
    firstMs: 0,
    maxMs: 0,
    attempts: 2,
    then: 'the environment does not open: `crashed`, or `deadline` if its time is over',
  },
  browserLeft: {
    what: 'environment `browser`: the check that nothing of a finished page still runs',
    firstMs: 10,
    maxMs: 200,
    attempts: 7,
    then: 'its tab is closed, and the next episode gets another one',
  },
  browserAnswer: {
    what: 'environment `browser`: a query of a page, or its screenshot, whose answer a navigation lost; after the page has loaded',
    firstMs: 20,
    maxMs: 20,
    then: 'until the deadline of the step (environment.deadline_ms)',
  },
  browserState: {
    what: 'environment `browser`: the state of a page that has none while it navigates; after the page has loaded',
    firstMs: 20,
    maxMs: 20,
    attempts: 5,
    then: 'the page has failed: `page_error`',
  },
  outsideEnvironment: {
    what: 'environments `ui-verifiers` and `openenv`: a server that failed, with another episode; its current episode ends',
    firstMs: 1_000,
    maxMs: 60_000,
    then: 'for as long as the run lasts; meanwhile episodes use the other servers, and wait if there are none (code `capacity`)',
  },
  androidDevice: {
    what: 'environment `android`: a device that disappeared or did not answer; meanwhile episodes use other devices',
    firstMs: 1_000,
    maxMs: 60_000,
    then: 'for as long as the env service runs; an episode that finds no other in time is `capacity`',
  },
  gbox: {
    what: 'environment `gbox`: a request that reads or ends something, while GBox is busy or fails; an action only if it was not performed (429, or no connection)',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 5,
    then: 'the episode is invalid, and its box is ended',
  },
  serveRun: {
    what: 'every service: serving a run after a failure; a warning of the run names the cause',
    firstMs: 5_000,
    maxMs: 60_000,
    steadyMs: 60_000,
    then: 'until the service stops or the run is over; a misconfigured host leaves the run to others. If there are none and never were, or if five attempts failed for unknown reasons, the run fails',
  },
  checkpoint: {
    what: 'learner: saving a checkpoint while its disk is full; published as a warning of the run',
    firstMs: 1_000,
    maxMs: 30_000,
    then: 'until there is space; training waits',
  },
  database: {
    what: 'monitor: a transaction while the database does not answer',
    firstMs: 250,
    maxMs: 5_000,
    then: 'until the monitor stops; a row that the database refuses becomes a dead letter at once',
  },
  hubQuestion: {
    what: 'learner and command line: a request to the model hub for a commit or its files, if the cache does not have them',
    firstMs: 1_000,
    maxMs: 16_000,
    attempts: 4,
    then: 'the start ends with the error of the hub',
  },
  hubDownload: {
    what: 'learner and command line: an interrupted download, continued where it stopped; only consecutive attempts without data count',
    firstMs: 1_000,
    maxMs: 16_000,
    attempts: 6,
    then: 'the start ends; the next one continues the download',
  },
  restart: {
    what: '`ui-rl up` and `quickstart`: a service that ended; the end of its log is shown from the third time in a row on',
    firstMs: 1_000,
    maxMs: 60_000,
    steadyMs: 60_000,
    then: 'for as long as the command runs',
  },
  taskServer: {
    what: 'task source `http`: a page of a list that cannot be reached, breaks off, or is answered with 408, 429 or 5xx; and a list that was changed while it was read, from its first page on',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 6,
    then: 'the start ends with the error of the server; a service retries as with any run that it cannot serve yet',
  },
  trackerServer: {
    what: 'a tracker that sends metrics to a server (learner): records that the server did not accept',
    firstMs: 500,
    maxMs: 30_000,
    then: 'until the run ends; training does not wait for it',
  },
} as const satisfies Readonly<Record<string, RetryPolicy>>;
