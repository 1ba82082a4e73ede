import 'reflect-metadata';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { jetstreamManager } from '@nats-io/jetstream';
import { Logger } from '@nestjs/common';
import { API_PREFIX, BusService } from '@ui-rl/bus';
import { ANY, type RolloutRequest, STREAMS, subjects } from '@ui-rl/contracts';
import { sleep } from '@ui-rl/retry';
import { makeRollout, NatsCluster } from '@ui-rl/testkit';

const HELP = `npm run faults:queue -- [options]      each of three brokers is killed under constant publishing into a queue, and comes back

Every published message must be handled once, and the queue must be empty at the end. NATS_SERVER_BIN says which nats-server.

  --rounds N       (1)
  --rate N         messages a second (100)
  --down SECONDS   time until a killed broker comes back (4)
  --up SECONDS     time until the next one is killed (3)
  --verbose        what the clients say meanwhile
`;

const RUN = 'run';
const DURABLE = 'actors';
const READERS = 2;
const HANDLING_MS = 5;
const RESTS_WITHIN_MS = 60_000;

interface Pace {
  rate: number;
  downMs: number;
  upMs: number;
}

/** The state of the queue. */
interface Remains {
  unpublished: number;
  unhandled: number;
  stored: number;
  unacknowledged: number;
  copies: number;
}

/** A queue on three brokers, with its producers and consumers. */
class Queue {
  private readonly buses: BusService[] = [];
  private readonly open = new Set<Promise<void>>();
  private readonly published = new Set<string>();
  /** How often each message was handled. */
  readonly handled = new Map<string, number>();

  private constructor(
    readonly cluster: NatsCluster,
    private readonly operator: BusService,
    private readonly loader: BusService,
  ) {}

  static async open(): Promise<Queue> {
    const cluster = await NatsCluster.start();
    const operator = await connect(cluster, 'operator', 3);
    const queue = new Queue(cluster, operator, await connect(cluster, 'task-loader'));
    queue.buses.push(operator, queue.loader);
    for (let reader = 0; reader < READERS; reader += 1) await queue.read();
    return queue;
  }

  /** Publishes until the signal aborts, regardless of earlier messages. */
  async publish(rate: number, signal: AbortSignal): Promise<void> {
    for (let groupIndex = 0; !signal.aborted; groupIndex += 1) {
      const groupId = `${RUN}-g${String(groupIndex).padStart(6, '0')}`;
      const rollout = makeRollout({ runId: RUN, groupId, groupIndex });
      const id = rollout.rolloutId;
      const publishing: Promise<void> = this.loader
        .publishJson(subjects.rollout(RUN, 'train'), rollout, id)
        .then(() => void this.published.add(id))
        .finally(() => this.open.delete(publishing));
      this.open.add(publishing);
      await sleep(1000 / rate, signal);
    }
  }

  get counts(): string {
    return `${this.published.size} published, ${this.open.size} under way, ${this.handled.size} handled`;
  }

  async remains(): Promise<Remains> {
    const jsm = await jetstreamManager(this.operator.connection, { apiPrefix: API_PREFIX, checkAPI: false });
    const { cluster, state } = await jsm.streams.info(STREAMS.rollouts);
    const { num_ack_pending: unacknowledged } = await jsm.consumers.info(STREAMS.rollouts, DURABLE);
    const current = cluster?.replicas?.filter((each) => each.current && each.offline !== true) ?? [];
    return {
      unpublished: this.open.size,
      unhandled: [...this.published].filter((id) => !this.handled.has(id)).length,
      stored: state.messages,
      unacknowledged,
      copies: (cluster?.leader === undefined ? 0 : 1) + current.length,
    };
  }

  async close(): Promise<void> {
    await Promise.all(this.buses.map((bus) => bus.close()));
    await this.cluster.stop();
  }

  private async read(): Promise<void> {
    const bus = await connect(this.cluster, 'actor');
    this.buses.push(bus);
    await bus.consume<RolloutRequest>({
      ...{ stream: STREAMS.rollouts, durable: DURABLE, subject: subjects.rollout(RUN, ANY), concurrency: 4 },
      handle: async ({ rolloutId }) => {
        this.handled.set(rolloutId, (this.handled.get(rolloutId) ?? 0) + 1);
        await sleep(HANDLING_MS);
      },
    });
  }
}

async function connect(cluster: NatsCluster, user: string, replicas?: number): Promise<BusService> {
  const context = JSON.parse(readFileSync(cluster.contextFile(user), 'utf8')) as Record<string, string>;
  const { url, password, inbox_prefix: inboxPrefix, jetstream_api_prefix: apiPrefix } = context;
  const servers = url.split(',');
  return BusService.connect({ service: user, servers, user, password, inboxPrefix, apiPrefix, replicas });
}

/** @returns violated invariants */
async function play({ rate, downMs, upMs }: Pace): Promise<string[]> {
  const queue = await Queue.open();
  try {
    const publishing = new AbortController();
    const published = queue.publish(rate, publishing.signal);
    for (const node of queue.cluster.nodes) {
      await sleep(upMs);
      console.log(`  ${node.name} dies: ${queue.counts}`);
      await node.kill();
      await sleep(downMs);
      console.log(`  ${node.name} comes back: ${queue.counts}`);
      await node.launch();
    }
    await sleep(upMs);
    publishing.abort();
    await published;
    const began = performance.now();
    const problems = await untilRest(queue);
    const twice = [...queue.handled.values()].filter((times) => times > 1).length;
    if (twice > 0) problems.push(`${twice} messages were handled twice`);
    console.log(`  ${queue.counts}; ${((performance.now() - began) / 1000).toFixed(1)} s until rest`);
    return problems;
  } finally {
    await queue.close();
  }
}

async function untilRest(queue: Queue): Promise<string[]> {
  const until = performance.now() + RESTS_WITHIN_MS;
  for (;;) {
    // Requests fail during a leader election.
    const remains = await queue.remains().catch(() => null);
    const problems = remains === null ? ['the brokers do not answer'] : problemsOf(remains);
    if (problems.length === 0 || performance.now() > until) return problems;
    await sleep(500);
  }
}

function problemsOf({ unpublished, unhandled, stored, unacknowledged, copies }: Remains): string[] {
  const all: [boolean, string][] = [
    [unpublished > 0, `${unpublished} messages are not published`],
    [unhandled > 0, `${unhandled} messages were published and not handled`],
    [stored > 0, `${stored} messages are in the queue, ${unacknowledged} of them not acknowledged`],
    [copies < 3, `${copies} brokers have all of the queue, expected 3`],
  ];
  return all.filter(([holds]) => holds).map(([, problem]) => problem);
}

async function main(): Promise<void> {
  const number = (value: string) => ({ type: 'string', default: value }) as const;
  const flag = { type: 'boolean', default: false } as const;
  const { values } = parseArgs({
    options: {
      ...{ rounds: number('1'), rate: number('100'), down: number('4'), up: number('3') },
      ...{ verbose: flag, help: flag },
    },
  });
  if (values.help) return console.log(HELP);
  if (!values.verbose) Logger.overrideLogger(false);
  const [rounds, rate, down, up] = [values.rounds, values.rate, values.down, values.up].map(Number);
  if (![rounds, rate, down, up].every((each) => each > 0))
    throw new Error(`numbers above 0 are expected\n\n${HELP}`);
  for (let round = 1; round <= rounds; round += 1) {
    console.log(`round ${round} of ${rounds}`);
    const problems = await play({ rate, downMs: down * 1000, upMs: up * 1000 });
    console.log(problems.length === 0 ? '  ok' : problems.map((each) => `  FAILURE: ${each}`).join('\n'));
    if (problems.length > 0) process.exitCode = 1;
  }
}

main().catch((error: unknown) => {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
});
