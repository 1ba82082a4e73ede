/** Time limit of one attempt or one wait. */
export interface Deadline {
  /** the awaited event */
  readonly what: string;
  readonly ms: number;
  /** the consequence of a timeout */
  readonly then: string;
}

/**
 * Time limits of waits. Those that a run file configures are elsewhere: `rollout.*_timeout_ms`,
 * `environment.deadline_ms`, `lease_ms`.
 */
export const DEADLINES = {
  connect: { what: 'one attempt to connect to NATS', ms: 3_000, then: 'another attempt' },
  brokerOfCommand: {
    what: 'a command (`ui-rl train`, `runs`, `tasks publish` …), to connect to its broker',
    ms: 2_500,
    then: 'it ends with exit code 1, and says how to start one',
  },
  servicesOfRun: {
    what: 'any service, to start serving an announced run (`ui-rl train`)',
    ms: 10_000,
    then: 'a warning that says how to start them; the command continues to wait',
  },
  publish: { what: 'the broker, to answer one operation of JetStream', ms: 3_000, then: 'another attempt' },
  bucket: {
    what: 'the S3 bucket of blobs (BLOBS), to answer one request of at most 16 MiB',
    ms: 60_000,
    then: 'another attempt',
  },
  fetch: { what: 'one pull for the next message', ms: 30_000, then: 'another pull' },
  pullHeartbeat: {
    what: 'the broker, to send the heartbeat of a waiting pull; two missing ones mean that the leader of the consumer has died',
    ms: 5_000,
    then: 'another pull',
  },
  message: {
    what: 'a message handler, to extend its deadline, which it does three times as often',
    ms: 30_000,
    then: 'the broker redelivers the message to any process that requests one',
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
  sampler: {
    what: 'a process that samples for the learner (sampler `external`), to report, which it does five times as often',
    ms: 5_000,
    then: 'it counts as gone: another sampler gets its requests, until it reports again',
  },
  samplerWeights: {
    what: 'samplers, to load new weights or to switch to them, once other samplers have them',
    ms: 30_000,
    then: 'the other samplers serve the policy meanwhile',
  },
  samplerOrders: {
    what: 'the learner, to answer a report or a request of a sampler',
    ms: 5_000,
    then: 'the sampler asks again',
  },
  environmentAnswer: {
    what: 'one answer of an env service, after which the actor requests a lost one again',
    ms: 5_000,
    then: 'the actor asks again; running work is not started again',
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
    what: '`ui-rl try --by-hand`: no activity on the live page',
    ms: 1_800_000,
    then: 'the command ends, and nothing is written',
  },
  environmentClose: {
    what: 'the final state of an environment, by default (environment.deadline_ms in services)',
    ms: 10_000,
    then: 'the session is over without one: `deadline`',
  },
  environmentHung: {
    what: 'an environment that misses its deadline, beyond that',
    ms: 2_000,
    then: 'it counts as hung and the session is over: `deadline`',
  },
  browserReload: {
    what: 'a page that navigates, to load before the next query (environment `browser`)',
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
  browserFrame: {
    what: 'a frame of another site, to receive the pointer before a click (environment `browser`)',
    ms: 2_000,
    then: 'the action is done anyway',
  },
  browserClean: {
    what: 'a page, to be cleaned after its episode (environment `browser`)',
    ms: 10_000,
    then: 'it is closed, and the next episode gets another one',
  },
  browserClose: {
    what: 'a page, to close (environment `browser`)',
    ms: 5_000,
    then: 'its browser gets no new pages until it is closed',
  },
  browserEnd: {
    what: 'the same, in addition',
    ms: 30_000,
    then: 'its browser is ended, with all its pages',
  },
  outsideReady: {
    what: 'an environment server of another project, to answer that it is ready (environments `ui-verifiers`, `openenv`)',
    ms: 3_000,
    then: 'it is set aside, and another one gets the request',
  },
  outsideLeave: {
    what: 'such a server, to end an abandoned session',
    ms: 5_000,
    then: 'the caller stops waiting',
  },
  taskSource: {
    what: 'a task source, to load its tasks',
    ms: 60_000,
    then: 'it has failed; a service that serves a run retries',
  },
  taskServer: {
    what: 'bytes of a task server, the first or the next ones (task source `http`)',
    ms: 30_000,
    then: 'the page is asked for again',
  },
  pluginThread: {
    what: 'a component in its own thread (actor), to end a call after its deadline',
    ms: 1_000,
    then: 'its thread is ended; other calls are repeated in a new thread',
  },
  tracker: {
    what: 'one call of a tracker',
    ms: 10_000,
    then: 'an error in the log of the learner; the run continues',
  },
  traces: {
    what: 'a collector of traces, to accept the last ones when a service ends',
    ms: 3_000,
    then: 'they are lost',
  },
  otherHosts: {
    what: 'another host of the same service, to report that it serves a run which one cannot (requested by the task-loader)',
    ms: 3_000,
    then: 'the run has failed, unless it was served before',
  },
  unserved: {
    what: 'a task-loader, to decide about a run that a host cannot serve',
    ms: 10_000,
    then: 'the host repeats the request until the run is over',
  },
  lastEvent: {
    what: 'the event that a run has ended, after its state says so (`ui-rl train`)',
    ms: 5_000,
    then: 'the state counts',
  },
  lastCheckpoint: {
    what: 'the learner, to save the last checkpoint of a stopped run (`ui-rl train`)',
    ms: 60_000,
    then: 'the newest reported checkpoint counts',
  },
  lostEpisode: {
    what: 'a requested episode that left its queue and has no trajectory (learner, evaluator)',
    ms: 30_000,
    then: 'it is requested again under another id, twice at most; then its group is replaced, or it counts as invalid',
  },
  stall: {
    what: 'progress of an evaluation (evaluator)',
    ms: 120_000,
    then: 'a warning of the run, `stall`; it continues to wait',
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
    then: 'it ends without closing what it was opening',
  },
  stopProcess: {
    what: 'a service that `ui-rl up` or `quickstart` ends',
    ms: 8_000,
    then: 'it is killed, with all that it started',
  },
  unreadConsumer: {
    what: 'a private consumer of a stream (`ui-rl train`), to request the next message',
    ms: 600_000,
    then: 'the broker deletes its consumer; the next request creates another one',
  },
  recorded: {
    what: 'a monitor that ends with a run or an evaluation, to record the last of it (`ui-rl quickstart`, `ui-rl eval`)',
    ms: 30_000,
    then: 'it ends anyway, with a warning',
  },
  health: {
    what: 'database and broker, for `GET /health` of the monitor and `GET /ready` of any service',
    ms: 2_000,
    then: 'status 503',
  },
  embeddedDatabase: {
    what: 'the process that has the built-in database open, to answer another one of this machine',
    ms: 60_000,
    then: 'the other one does not open it, and names that process',
  },
  pageQuery: {
    what: 'the database, to answer a query of the page (PostgreSQL; the built-in one answers one query after the other)',
    ms: 15_000,
    then: 'status 503; recording does not wait for it',
  },
  liveConnection: {
    what: 'a page that receives changes, before it has to connect again',
    ms: 3_600_000,
    then: 'it does so by itself',
  },
  monitorPage: {
    what: 'a monitor, to answer with the address of the page of a run, and the page, to answer there',
    ms: 10_000,
    then: '`ui-rl train` reports that it found none',
  },
  servicesOnPage: {
    what: 'the services of a run, to answer the monitor with their state',
    ms: 3_000,
    then: 'the health page shows that they are silent',
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
