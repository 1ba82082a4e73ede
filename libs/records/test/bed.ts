import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Trajectory } from '@ui-rl/contracts';
import { startPostgres } from '@ui-rl/testkit';
import { type Database, type DatabaseOptions, openDatabase } from '../src';

export const RUN = 'demo-20261120-101500';

export function trajectory(id: string, changes: Partial<Trajectory> = {}, version = 3): Trajectory {
  return {
    request: {
      rolloutId: id,
      runId: RUN,
      groupId: 'g0',
      groupIndex: 0,
      indexInGroup: 0,
      groupSize: 4,
      attempt: 0,
      purpose: 'train',
      task: { id: 'train_02_enable_wifi', description: 'Enable Wi-Fi', source: 'demo' },
      seed: 7,
      samplingSeed: 8,
      policy: 'latest',
    },
    status: 'completed',
    success: true,
    reward: 1,
    rewards: { 'task-success': 1 },
    turns: [
      {
        index: 0,
        promptTokenIds: [1, 2, 3],
        promptImages: ['a'.repeat(64)],
        imageTokens: 1,
        tokenIds: [4, 5],
        logprobs: [-0.25, -0.5],
        temperature: 1,
        policyVersion: version,
        adapterDigest: 'digest',
        text: '{"action":"click","x":1,"y":2}',
        actions: [{ action: 'click', x: 1, y: 2 }],
        outcome: 'ok',
        screenshot: 'a'.repeat(64),
        policyMs: 12.5,
        envMs: 3,
      },
    ],
    actor: 'actor-1',
    startedAt: '2026-11-20T10:15:00.000Z',
    finishedAt: '2026-11-20T10:15:02.000Z',
    ...changes,
  };
}

/** An empty database. */
export interface Bed {
  database: Database;
  stop(): Promise<void>;
}

async function bedOf(options: DatabaseOptions, remove: () => Promise<void>): Promise<Bed> {
  const database = await openDatabase(options);
  const stop = async () => {
    await database.close();
    await remove();
  };
  return { database, stop };
}

/** Each kind of database, so that the same cases run on all. */
export const backends: [name: string, start: () => Promise<Bed>][] = [
  [
    'embedded',
    async () => {
      const folder = await mkdtemp(join(tmpdir(), 'ui-rl-records-'));
      const remove = () => rm(folder, { recursive: true, force: true });
      return bedOf({ kind: 'pglite', dataDir: join(folder, 'database') }, remove);
    },
  ],
  [
    'PostgreSQL server',
    async () => {
      const server = await startPostgres();
      return bedOf({ kind: 'postgres', url: server.url }, () => server.stop());
    },
  ],
];
