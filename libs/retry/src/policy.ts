/** How something that failed is tried again. */
export interface RetryPolicy {
  /** who tries what again */
  readonly what: string;
  /** pause before the second attempt, in milliseconds; doubled for each further one */
  readonly firstMs: number;
  /** longest pause */
  readonly maxMs: number;
  /** attempts, the first among them; absent: no such limit */
  readonly attempts?: number;
  /** an attempt that lasted so long before it failed counts as the first again; absent: none does */
  readonly steadyMs?: number;
  /** time after which no further attempt begins; absent: no such limit */
  readonly withinMs?: number;
  /** until when, where that is no number, and what follows then */
  readonly then: string;
}

/**
 * Who tries what again, how often, and until when. Everything else that fails is an error at once. Attempts are spaced by
 * {@link RetryPolicy.firstMs}, doubled up to {@link RetryPolicy.maxMs}; what keeps failing is logged every 5 seconds.
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
  copies: {
    what: 'every service: a message that is missing where several servers keep copies, of which the one that answered may lack the latest',
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
    what: 'learner: an episode that waits for its batch and comes again after every restart (pauses as for any redelivery)',
    firstMs: 1_000,
    maxMs: 30_000,
    attempts: 1_000,
    then: 'the message becomes a dead letter',
  },
  request: {
    what: 'whoever asks: a request that nobody listens to, or whose connection was lost',
    firstMs: 200,
    maxMs: 200,
    then: 'as long as the caller wants, then the reply is a failure with the code `no_responders` or `disconnected`',
  },
  policy: {
    what: 'actor: the policy, which is idempotent by request id, while the learner does not answer',
    firstMs: 250,
    maxMs: 2_000,
    then: 'until the turn is over (rollout.turn_timeout_ms): the trajectory is invalid, `deadline`',
  },
  outsideSampler: {
    what: 'learner: an answer of a server that samples outside of it (samplers `vllm`, `sglang`), from another server where there is one; the failed request is cut off before',
    firstMs: 100,
    maxMs: 2_000,
    attempts: 4,
    then: 'the request has failed, and the actor asks again as above',
  },
  tinker: {
    what: 'engine `tinker`: a request to the service while it fails, is busy, or cannot be reached; requests that change weights are numbered, so that none is done twice',
    firstMs: 500,
    maxMs: 8_000,
    withinMs: 300_000,
    then: 'the engine ends, and the run goes on from its newest checkpoint (engine.retry_ms says until when)',
  },
  endpointPolicy: {
    what: '`ui-rl eval`: an answer of an endpoint that is busy, failed, or cannot be reached, sooner or later where the endpoint says so',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 6,
    then: 'the episode is invalid; where the endpoint cannot be reached, the evaluation ends with what it has reached',
  },
  judge: {
    what: 'reward `judge`: an answer of its endpoint that is busy, failed, or cannot be reached, sooner or later where the endpoint says so, and one that is no verdict',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 4,
    then: 'the episode is invalid, with the name of the reward; at the latest when the time of the reward is over (rollout.turn_timeout_ms)',
  },
  environmentOpen: {
    what: 'actor: opening an environment that has no room, does not listen yet, is slow or crashed',
    firstMs: 250,
    maxMs: 2_000,
    withinMs: 120_000,
    then: 'the trajectory is invalid, with the code of the last reply',
  },
  environment: {
    what: 'actor: a step or the end of a session, idempotent by step id, while its env service does not answer',
    firstMs: 250,
    maxMs: 250,
    then: 'after 8 s without anybody listening, or 2 s beyond the deadline of the step without an answer: the session is lost',
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
    then: 'the environment does not open: `crashed`, or `deadline` where its time is over',
  },
  browserLeft: {
    what: 'environment `browser`: whether nothing of a page that was left still runs',
    firstMs: 10,
    maxMs: 200,
    attempts: 7,
    then: 'its tab is closed, and the next episode gets another one',
  },
  browserAnswer: {
    what: 'environment `browser`: a question to a page, or its screenshot, whose answer a navigation lost; after the page has loaded',
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
    what: 'environments `ui-verifiers` and `openenv`: a server that failed, with another episode; the episode that was played there is not played on',
    firstMs: 1_000,
    maxMs: 60_000,
    then: 'for as long as the run lasts; meanwhile episodes go to the other servers, and wait where there are none (code `capacity`)',
  },
  androidDevice: {
    what: 'environment `android`: a device that was gone or did not answer, set aside meanwhile; episodes are played on others',
    firstMs: 1_000,
    maxMs: 60_000,
    then: 'for as long as the env service runs; an episode that finds no other in time is `capacity`',
  },
  gbox: {
    what: 'environment `gbox`: a request that reads or ends something, while GBox is busy or fails; an action only where nothing of it was done (429, or no connection)',
    firstMs: 500,
    maxMs: 8_000,
    attempts: 5,
    then: 'the episode is invalid, and its box is ended',
  },
  serveRun: {
    what: 'every service: serving a run, where that failed; what it waits for is published as a warning of the run',
    firstMs: 5_000,
    maxMs: 60_000,
    steadyMs: 60_000,
    then: 'until the service stops or the run is over; a host that is set up wrongly leaves the run to others. Where there are none and never were, or where five attempts failed for unknown reasons, the run has failed',
  },
  checkpoint: {
    what: 'learner: saving a checkpoint while its disk is full; published as a warning of the run',
    firstMs: 1_000,
    maxMs: 30_000,
    then: 'until there is room; training waits',
  },
  database: {
    what: 'monitor: a transaction while the database does not answer',
    firstMs: 250,
    maxMs: 5_000,
    then: 'until the monitor stops; a row that the database refuses becomes a dead letter at once',
  },
  hubQuestion: {
    what: 'learner and command line: asking the model hub for a commit or its files, where the cache has no answer',
    firstMs: 1_000,
    maxMs: 16_000,
    attempts: 4,
    then: 'the start ends with what the hub said',
  },
  hubDownload: {
    what: 'learner and command line: a download that broke off, gone on with where it stopped; counted are attempts in a row in which nothing arrived',
    firstMs: 1_000,
    maxMs: 16_000,
    attempts: 6,
    then: 'the start ends; what has arrived is kept for the next one',
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
    then: 'the start ends with what the server said; a service begins again as with any run that it cannot serve yet',
  },
  trackerServer: {
    what: 'a tracker that sends metrics to a server (learner): what the server did not take',
    firstMs: 500,
    maxMs: 30_000,
    then: 'until the run ends; training does not wait for it',
  },
} as const satisfies Readonly<Record<string, RetryPolicy>>;

/** How long one attempt, or one thing that is waited for, may take. */
export interface Deadline {
  /** what is waited for */
  readonly what: string;
  readonly ms: number;
  /** what follows */
  readonly then: string;
}

/** How long is waited for what. Those that a run file sets stand there: `rollout.*_timeout_ms`, `environment.deadline_ms`, `lease_ms`. */
export const DEADLINES = {
  connect: { what: 'one attempt to connect to NATS', ms: 3_000, then: 'another attempt' },
  publish: { what: 'the broker, to answer one operation of JetStream', ms: 3_000, then: 'another attempt' },
  fetch: { what: 'one pull for the next message', ms: 30_000, then: 'another pull' },
  pullHeartbeat: {
    what: 'the broker, to say that a pull still waits, which is missing twice where the server that leads the consumer has died',
    ms: 5_000,
    then: 'another pull',
  },
  message: {
    what: 'a handler of a message, to give a sign of life, which it does by itself three times as often',
    ms: 30_000,
    then: 'the broker delivers the message again, to whichever process asks for one',
  },
  shortMessage: {
    what: 'the same, where handling takes milliseconds (task-loader, evaluator)',
    ms: 5_000,
    then: 'the same',
  },
  rollout: {
    what: 'the same, for a rollout that an actor plays',
    ms: 15_000,
    then: 'another actor plays it',
  },
  trajectory: {
    what: 'the same, for an episode that a learner holds until it is trained: how long a killed learner delays training',
    ms: 10_000,
    then: 'the next learner gets it',
  },
  lease: {
    what: 'a learner, to renew the lease of its run, which it does four times as often',
    ms: 6_000,
    then: 'another learner that waits takes the run over',
  },
  policy: { what: 'one answer of the policy', ms: 10_000, then: 'the actor asks again' },
  environmentAnswer: {
    what: 'one answer of an env service, beyond which a lost one is asked for again',
    ms: 5_000,
    then: 'the actor asks again; work that goes on is not begun again',
  },
  environmentMargin: {
    what: 'the network, on top of the deadline of an environment',
    ms: 2_000,
    then: 'the session is lost',
  },
  environmentGone: {
    what: 'an env service that holds a session and does not listen',
    ms: 8_000,
    then: 'the session is lost',
  },
  tryByHand: {
    what: '`ui-rl try --by-hand`: a person who does nothing on the live page',
    ms: 1_800_000,
    then: 'the command ends, and nothing is written',
  },
  environmentClose: {
    what: 'the final state of an environment, where nothing else is said (environment.deadline_ms in services)',
    ms: 10_000,
    then: 'the session is over without one: `deadline`',
  },
  environmentHung: {
    what: 'an environment that does not keep its deadline, beyond that',
    ms: 2_000,
    then: 'it counts as hung and the session is over: `deadline`',
  },
  browserReload: {
    what: 'a page that navigates, to load, before it is asked again (environment `browser`)',
    ms: 5_000,
    then: 'it is asked as it is',
  },
  browserLoad: {
    what: 'a page without `uirl`, to load what an action navigates to (environment `browser`)',
    ms: 10_000,
    then: 'it is shown as it is, with the outcome `still_loading`',
  },
  browserScreenshot: {
    what: 'a screenshot of a page (environment `browser`)',
    ms: 3_000,
    then: 'it is requested again',
  },
  browserClean: {
    what: 'a page, to be left and cleaned of its episode (environment `browser`)',
    ms: 10_000,
    then: 'it is closed, and the next episode gets another one',
  },
  browserClose: {
    what: 'a page, to close (environment `browser`)',
    ms: 5_000,
    then: 'its browser is ended with it',
  },
  outsideReady: {
    what: 'a server of environments outside of the project, to say that it is there (environments `ui-verifiers`, `openenv`)',
    ms: 3_000,
    then: 'it is set aside, and another one is asked',
  },
  outsideLeave: {
    what: 'such a server, to end a session that is given up',
    ms: 5_000,
    then: 'nobody waits for it any more',
  },
  taskSource: {
    what: 'a task source, to load its tasks',
    ms: 60_000,
    then: 'it has failed, and is asked again where a service serves a run',
  },
  taskServer: {
    what: 'bytes of a task server, the first or the next ones (task source `http`)',
    ms: 30_000,
    then: 'the page is asked for again',
  },
  pluginThread: {
    what: 'a component in a thread of its own (actor), to end a call whose time is over',
    ms: 1_000,
    then: 'its thread is ended; other calls are made once more, in another',
  },
  tracker: {
    what: 'one call of a tracker',
    ms: 10_000,
    then: 'an error in the log of the learner; the run goes on',
  },
  traces: {
    what: 'a collector of traces, to take the last ones when a service ends',
    ms: 3_000,
    then: 'they are lost',
  },
  otherHosts: {
    what: 'another host of the same service, to say that it serves a run which one cannot (asked by the task-loader)',
    ms: 3_000,
    then: 'the run has failed, unless it was served before',
  },
  unserved: {
    what: 'a task-loader, to decide what becomes of a run that a host cannot serve',
    ms: 10_000,
    then: 'it is asked again until the run is over',
  },
  lastEvent: {
    what: 'the event that a run has ended, after that was written down (`ui-rl train`)',
    ms: 5_000,
    then: 'what was written down counts',
  },
  lostEpisode: {
    what: 'an episode that was requested, that no queue holds any more and whose trajectory nobody has (learner, evaluator)',
    ms: 30_000,
    then: 'it is requested again under another id, twice at most; then its group is replaced, or it counts as invalid',
  },
  stall: {
    what: 'any sign of an evaluation (evaluator)',
    ms: 120_000,
    then: 'a warning of the run, `stall`; it goes on waiting',
  },
  stopHandlers: {
    what: 'handlers that run while a service stops',
    ms: 10_000,
    then: 'their messages come again',
  },
  stopRun: {
    what: 'the work for a run while a service stops',
    ms: 5_000,
    then: 'the bus closes, which ends it',
  },
  stopBus: { what: 'buffered messages while the bus closes', ms: 15_000, then: 'the connection is cut' },
  stopOpening: {
    what: 'a service that is asked to end while it opens',
    ms: 5_000,
    then: 'it ends, and leaves behind what it was opening',
  },
  stopProcess: {
    what: 'a service that `ui-rl up` or `quickstart` ends',
    ms: 8_000,
    then: 'it is killed, with all that it started',
  },
  unreadConsumer: {
    what: 'whoever reads a stream for itself alone (`ui-rl train`), to ask for the next message',
    ms: 600_000,
    then: 'the broker deletes its consumer; it is made anew when it asks again',
  },
  recorded: {
    what: 'a monitor that ends with an evaluation, to record the last of it (`ui-rl eval`)',
    ms: 30_000,
    then: 'it ends all the same, with a warning',
  },
  health: {
    what: 'database and broker, for `GET /health` of the monitor and `GET /ready` of any service',
    ms: 2_000,
    then: 'status 503',
  },
  pageQuery: {
    what: 'the database, to answer what the page asks (PostgreSQL; the one that the monitor brings answers one after the other)',
    ms: 15_000,
    then: 'status 503; what is recorded does not wait for it',
  },
  liveConnection: {
    what: 'a page that is told of changes, before it has to connect again',
    ms: 3_600_000,
    then: 'it does so by itself',
  },
  monitorPage: {
    what: 'a monitor, to say where it shows a run, and its page, to answer there',
    ms: 10_000,
    then: '`ui-rl train` says that none was found',
  },
  hubLock: {
    what: 'the process that fetches a file of a model, to renew its lock',
    ms: 20_000,
    then: 'another process takes the lock',
  },
  hubStall: {
    what: 'bytes on a connection to the model hub',
    ms: 30_000,
    then: 'the attempt has failed',
  },
} as const satisfies Readonly<Record<string, Deadline>>;
