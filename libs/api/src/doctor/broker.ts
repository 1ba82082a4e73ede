import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { inspectBroker, type BrokerFacts } from '@ui-rl/bus';
import type { CliSettings } from '@ui-rl/settings';
import { bytesText } from '../report/sizes';
import { failure, ok, warning, type Check, type Finding } from './finding';

type Findings = Omit<Finding, 'subject'>[];

const MIB = 2 ** 20;
const LEAST_VERSION = [2, 9];
/** Below this limit, long episodes and large screenshots travel through the object store instead of in messages. */
const COMFORTABLE_PAYLOAD = 8 * MIB;
const LEAST_STORE = 1024 * MIB;
const CLOCKS_APART_MS = 2_000;

/** Checks the configured broker, or the nats-server binary that `quickstart` and `up` start. */
export const brokerCheck = ({ hasBroker, nats, natsServer }: CliSettings): Check => ({
  subject: 'broker',
  look: async () => {
    if (!hasBroker) return lookAtProgram(natsServer);
    const facts = await inspectBroker(nats);
    return [...lookAtServer(facts), ...lookAtStore(facts), ...lookAtClock(facts)];
  },
});

async function lookAtProgram(program: string): Promise<Findings> {
  try {
    const { stdout } = await promisify(execFile)(program, ['--version']);
    return lookAtVersion(
      /v(\d+\.\d+\.\d+)/.exec(stdout)?.[1] ?? stdout.trim(),
      `${program}, to be started by up and quickstart`,
    );
  } catch {
    return [failure(`NATS_URL is not set, and ${program} cannot be started`, 'npx ui-rl setup')];
  }
}

function lookAtVersion(version: string, where: string): Findings {
  const [major, minor] = version.split('.').map(Number);
  const found = `nats-server ${version} (${where})`;
  const isEnough = major > LEAST_VERSION[0] || (major === LEAST_VERSION[0] && minor >= LEAST_VERSION[1]);
  return [
    isEnough ? ok(found) : failure(`${found}, ${LEAST_VERSION.join('.')} is needed`, 'install a newer one'),
  ];
}

function lookAtServer({ version, address, maxPayloadBytes }: BrokerFacts): Findings {
  const found = `messages of at most ${bytesText(maxPayloadBytes)}`;
  const payload =
    maxPayloadBytes >= COMFORTABLE_PAYLOAD
      ? ok(found)
      : warning(found, 'max_payload: 8MB in its configuration');
  return [...lookAtVersion(version, address), payload];
}

function lookAtStore({ jetStream }: BrokerFacts): Findings {
  if (jetStream === null) {
    return [failure('JetStream is not there for this account', 'start nats-server with -js -sd FOLDER')];
  }
  const { used, limit } = jetStream.storage;
  if (limit === null) return [ok(`JetStream, ${bytesText(used)} stored`)];
  const found = `JetStream, ${bytesText(used)} of ${bytesText(limit)} stored`;
  const mend = 'raise max_file_store (max_storage of the account), or ui-rl runs delete';
  return [limit - used >= LEAST_STORE ? ok(found) : warning(found, mend)];
}

function lookAtClock({ jetStream }: BrokerFacts): Findings {
  const offset = jetStream?.clockOffsetMs ?? null;
  return offset === null ? [] : [compareClocks('the broker', offset)];
}

/** @param offsetMs the other clock minus this machine's, in ms */
export function compareClocks(whose: string, offsetMs: number): Omit<Finding, 'subject'> {
  const found = `the clock of ${whose} is ${(Math.abs(offsetMs) / 1000).toFixed(1)} s ${offsetMs < 0 ? 'behind' : 'ahead of'} this machine's`;
  return Math.abs(offsetMs) < CLOCKS_APART_MS ? ok(found) : warning(found, 'set both by NTP');
}
