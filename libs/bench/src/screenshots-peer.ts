// The env service's or the learner's side of `benchScreenshots`, in its own process as in a run.
import 'reflect-metadata';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { LocalNats } from '@ui-rl/api';
import { BusService, sha256 } from '@ui-rl/bus';
import { IsArray, IsIn, IsInt, IsString } from 'class-validator';

export const STEP = 'bench.screenshots.step';
export const ACT = 'bench.screenshots.act';
/** The run of the screenshots. */
export const RUN = 'bench';

/**
 * How screenshots are transferred: as bytes in every message, stored once and referenced by hash, or as bytes the
 * first time.
 */
export type Travel = 'bytes' | 'hash' | 'new-bytes';

export interface PeerQuestion {
  role: 'env' | 'learner';
  broker: LocalNats['connection'];
  /** Files of the screenshots. */
  screens: string[];
}

export class StepQuestion {
  @IsIn(['bytes', 'hash', 'new-bytes'])
  travel: Travel;

  @IsInt()
  screen: number;
}

export class ActQuestion {
  @IsArray()
  images: Uint8Array[];

  @IsString({ each: true })
  hashes: string[];
}

/** Screenshots that a learner caches. */
const KEPT = 256;

function serveEnvironment(bus: BusService, screens: readonly Uint8Array[]): void {
  bus.respond({
    subject: STEP,
    schema: StepQuestion,
    handle: async ({ travel, screen }) => {
      // Screenshots of a run never repeat.
      const png = Buffer.concat([screens[screen % screens.length], randomBytes(8)]);
      const hash = sha256(png);
      if (travel !== 'hash') return { png, hash };
      await bus.blobs.of(RUN).put(png, hash);
      return { hash };
    },
  });
}

function serveLearner(bus: BusService): void {
  const known = new Map<string, Uint8Array>();
  const remember = (hash: string, png: Uint8Array): void => {
    known.set(hash, png);
    if (known.size > KEPT) known.delete(known.keys().next().value!);
  };
  const fetchBlob = async (hash: string): Promise<void> => {
    if (known.has(hash)) return;
    const png = await bus.blobs.of(RUN).get(hash);
    if (png === null) throw new Error(`there is no blob ${hash}`);
    remember(hash, png);
  };
  bus.respond({
    subject: ACT,
    schema: ActQuestion,
    handle: async ({ images, hashes }) => {
      for (const png of images) remember(sha256(png), png);
      await Promise.all(hashes.map(fetchBlob));
      return { read: images.length + hashes.length };
    },
  });
}

async function serve({ role, broker, screens }: PeerQuestion): Promise<void> {
  const bus = await BusService.connect({ service: `bench-${role}`, ...broker });
  if (role === 'env')
    serveEnvironment(
      bus,
      screens.map((file) => readFileSync(file)),
    );
  else serveLearner(bus);
  await bus.connection.flush();
  process.once('disconnect', () => void bus.close().finally(() => process.exit(0)));
  process.send!('ready');
}

if (process.send !== undefined && require.main === module) {
  process.once('message', (question: PeerQuestion) => {
    serve(question).catch((error: unknown) => {
      console.error(error instanceof Error ? error.message : String(error));
      process.exit(1);
    });
  });
}
