import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startLocalNats, type LocalNats } from '@ui-rl/api';
import { BusService } from '@ui-rl/bus';
import { readCliSettings } from '@ui-rl/settings';
import { valueOf } from './environment';
import { alternate, median, medianRatio, peakRssOf } from './measure';
import type { BenchOptions, PartResult } from './parts';
import {
  ACT,
  RUN,
  STEP,
  type ActQuestion,
  type PeerQuestion,
  type StepQuestion,
  type Travel,
} from './screenshots-peer';
import { SCREEN_SIZES, takeScreens, type ScreenSize } from './screens';

const TIMEOUT_MS = 30_000;
const TURNS = 6;

interface Load {
  /** Screenshots in the prompt of a turn. */
  history: number;
  /** Concurrent episodes. */
  episodes: number;
}

const LOADS: Load[] = [
  { history: 1, episodes: 1 },
  { history: 4, episodes: 1 },
  { history: 4, episodes: 8 },
];

/**
 * Message cost of a turn with screenshots as bytes (from env to actor, from actor to learner with every request whose
 * history contains them, from actor to the blob store), by hash (the env service stores them, the learner fetches
 * unknown ones), and as bytes only the first time a learner gets each screenshot, later by hash. Env, learner and
 * actor are separate processes with a real broker and no other work; times cover whole episodes, including storing
 * screenshots.
 */
export async function benchScreenshots({ quick, onProgress }: BenchOptions): Promise<PartResult> {
  const rounds = quick ? 3 : 9;
  const details: Record<string, unknown> = {};
  const peakRssBytes: Record<string, number> = {};
  for (const size of SCREEN_SIZES) {
    const peers = await Peers.start(size);
    try {
      for (const load of LOADS) {
        const turn = (travel: Travel) => () => peers.msPerTurn(travel, load);
        const all = [turn('bytes'), turn('hash'), turn('new-bytes')];
        await alternate(1, all);
        const [bytes, hash, newBytes] = await alternate(rounds, all);
        const figures = {
          bytesMs: median(bytes),
          hashMs: median(hash),
          newBytesMs: median(newBytes),
          hashPerBytes: medianRatio(hash, bytes),
          newBytesPerBytes: medianRatio(newBytes, bytes),
        };
        const name = `${size.width}x${size.height}, history ${load.history}, ${load.episodes} at once`;
        details[name] = { ...figures, pngBytes: peers.pngBytes };
        onProgress(
          `screenshots ${name} (${Math.round(peers.pngBytes / 1024)} KiB each): ${figures.bytesMs.toFixed(1)} ms per turn as bytes, ` +
            `${figures.hashMs.toFixed(1)} ms by hash (ratio ${figures.hashPerBytes.toFixed(2)}), ` +
            `${figures.newBytesMs.toFixed(1)} ms with the bytes of new ones only (ratio ${figures.newBytesPerBytes.toFixed(2)})`,
        );
      }
      peakRssBytes[`screenshots_nats_server_${size.width}`] = peers.brokerRss();
    } finally {
      await peers.stop();
    }
  }
  return { ratios: {}, details, peakRssBytes };
}

/** A broker, and an env service and a learner that only transfer screenshots. */
class Peers {
  private constructor(
    private readonly dir: string,
    private readonly nats: LocalNats,
    private readonly children: readonly ChildProcess[],
    private readonly bus: BusService,
    /** Median size of the screenshots. */
    readonly pngBytes: number,
  ) {}

  static async start(size: ScreenSize): Promise<Peers> {
    const dir = await mkdtemp(join(tmpdir(), 'ui-rl-bench-'));
    const pngs = await takeScreens(size);
    const screens = pngs.map((_, index) => join(dir, `${index}.png`));
    await Promise.all(pngs.map((png, index) => writeFile(screens[index], png)));
    const trouble = (message: string): void => console.error(message);
    const { natsServer } = readCliSettings();
    const nats = await startLocalNats(natsServer, join(dir, 'nats'), join(dir, 'nats.log'), trouble, {
      temporaryDir: dir,
    });
    const roles = ['env', 'learner'] as const;
    const broker = nats.connection;
    const children = await Promise.all(roles.map((role) => startPeer({ role, broker, screens })));
    const bus = await BusService.connect({ service: 'bench-actor', ...broker });
    return new Peers(dir, nats, children, bus, median(pngs.map(({ byteLength }) => byteLength)));
  }

  /** Milliseconds per turn of concurrent episodes. */
  async msPerTurn(travel: Travel, { history, episodes }: Load): Promise<number> {
    const began = performance.now();
    await Promise.all(Array.from({ length: episodes }, () => this.playEpisode(travel, history)));
    return (performance.now() - began) / TURNS;
  }

  brokerRss(): number {
    return peakRssOf(this.nats.process.pid);
  }

  async stop(): Promise<void> {
    const ended = this.children.map((child) => once(child, 'exit'));
    for (const child of this.children) child.disconnect();
    await Promise.all(ended);
    await this.bus.close();
    await this.nats.stop();
    await rm(this.dir, { recursive: true, force: true });
  }

  private async playEpisode(travel: Travel, history: number): Promise<void> {
    const seen: { png?: Uint8Array; hash: string }[] = [];
    const uploads: Promise<string>[] = [];
    for (let screen = 0; screen < TURNS; screen += 1) {
      const step = { travel, screen } satisfies StepQuestion;
      const screenshot = valueOf(
        await this.bus.request<{ png?: Uint8Array; hash: string }>(STEP, step, TIMEOUT_MS),
      );
      seen.push(screenshot);
      const read = seen.slice(-history);
      const sent = travel === 'bytes' ? read : travel === 'hash' ? [] : read.slice(-1);
      const images = sent.map(({ png }) => png!);
      const hashes = read.filter((each) => !sent.includes(each)).map(({ hash }) => hash);
      if (screenshot.png !== undefined)
        uploads.push(this.bus.blobs.of(RUN).put(screenshot.png, screenshot.hash));
      const act = { images, hashes } satisfies ActQuestion;
      valueOf(await this.bus.request<{ read: number }>(ACT, act, TIMEOUT_MS));
    }
    await Promise.all(uploads);
  }
}

async function startPeer(question: PeerQuestion): Promise<ChildProcess> {
  const child = fork(join(__dirname, 'screenshots-peer.js'));
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the ${question.role} of the benchmark ended with ${String(code)}`);
  });
  ended.catch(() => undefined);
  child.send(question);
  await Promise.race([once(child, 'message'), ended]);
  return child;
}
