import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { BusService } from '@ui-rl/bus';
import { STREAMS, subjects, Trajectory } from '@ui-rl/contracts';
import { freePort, startNats } from '@ui-rl/testkit';
import { environment, STAY_OR_GO } from '../../test/stay-or-go';
import { evaluate, type EvaluateOptions, type EvalProgress } from './evaluate';

const KEY = 'secret-of-the-server';

interface Asked {
  model: string;
  messages: { role: string; content: string | { type: string; image_url?: { url: string } }[] }[];
  max_tokens?: number;
  max_completion_tokens?: number;
  temperature?: number;
  seed?: number;
}

/** An outside server whose models are programs. */
const MODELS: Record<string, (asked: Asked, earlier: number) => [status: number, answer: string]> = {
  idle: () => [200, '{"action":"finish","success":true}'],
  newer: ({ max_tokens: tokens, seed }) => {
    if (tokens !== undefined)
      return [400, "'max_tokens' is not supported, use 'max_completion_tokens' instead"];
    if (seed !== undefined) return [400, 'Unknown parameter: seed'];
    return [200, '{"action":"finish","success":true}'];
  },
  // Answers the opening question, then fails during the episode.
  moody: (_, earlier) => (earlier === 0 ? [200, 'white'] : [400, 'the context is too long']),
};

let server: Server;
let address: string;
let asked: Asked[];
let authorization: (string | undefined)[];
let wantsKey = false;
let folder: string;
let tasks: string;
const environmentBefore = process.env;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-evaluate-'));
  tasks = join(folder, 'tasks.json');
  writeFileSync(tasks, JSON.stringify(STAY_OR_GO));
  server = createServer((request, response) => {
    void (async () => {
      const [status, body] = await answer(request);
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(body));
    })();
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(async () => {
  process.env = environmentBefore;
  await new Promise((closed) => server.close(closed));
  rmSync(folder, { recursive: true });
});
beforeEach(() => {
  asked = [];
  authorization = [];
  wantsKey = false;
  process.env = { ...environmentBefore };
  delete process.env.NATS_URL;
});

async function answer(request: IncomingMessage): Promise<[number, object]> {
  authorization.push(request.headers.authorization);
  if (wantsKey && request.headers.authorization !== `Bearer ${KEY}`)
    return [401, { error: { message: 'no key' } }];
  if (request.url === '/v1/models') return [200, { data: Object.keys(MODELS).map((id) => ({ id })) }];
  const body = JSON.parse(await text(request)) as Asked;
  const earlier = asked.filter(({ model }) => model === body.model).length;
  asked.push(body);
  const model = MODELS[body.model];
  if (model === undefined) return [404, { error: { message: `no model ${body.model}` } }];
  const [status, said] = model(body, earlier);
  if (status !== 200) return [status, { error: { message: said } }];
  return [200, { choices: [{ message: { role: 'assistant', content: said }, finish_reason: 'stop' }] }];
}

const play = (checkpoints: string[], options: Partial<EvaluateOptions> = {}) =>
  evaluate({
    checkpoints,
    tasks,
    flags: [
      '--evaluation.episodes_per_task',
      '2',
      '--rollout.max_turns',
      '2',
      '--rollout.concurrency',
      '4',
      '--rollout.max_attempts',
      '2',
    ],
    ...options,
  });

it('its own monitor, which requires a token, has recorded everything at the end', async () => {
  process.env.MONITOR_TOKEN = 'of-sixteen-characters-and-more';
  process.env.UIRL_RUNS_DIR = join(folder, 'runs');
  const warnings: string[] = [];
  const report = await play([`${address}#idle`], {
    records: 'own',
    onWarning: (message) => warnings.push(message),
  });
  expect(report.ended).toBeNull();
  expect(warnings).toEqual([]);
}, 60_000);

it('an endpoint plays the tasks of a file beside another, on the same starts', async () => {
  const warnings: string[] = [];
  const report = await play([`${address}#idle`, `${address}#newer --model.prompt compact`], {
    onWarning: (message) => warnings.push(message),
  });
  expect(report).toMatchObject({ run: null, seed: 0, episodes_per_task: 2, ended: null });
  const [idle, newer] = report.checkpoints;
  expect(idle).toMatchObject({
    label: 'idle',
    score: { success_rate: 0.5, n: 4 },
    invalid: 0,
    mean_turns: 1,
  });
  expect(idle.tasks.map(({ id, successes }) => [id, successes])).toEqual([
    ['stay', 2],
    ['go', 0],
  ]);
  expect(idle.pass_at_k).toEqual({ 1: 0.5, 2: 0.5 });
  const seeds = (of: typeof idle) => of.tasks.flatMap(({ episodes }) => episodes.map(({ seed }) => seed));
  expect(seeds(newer)).toEqual(seeds(idle));
  expect(new Set(seeds(idle)).size).toBe(4);
  expect(report.comparisons).toMatchObject([
    { label: 'newer', to: 'idle', difference: 0, pairs: 4, better: 0, worse: 0 },
  ]);
  expect(warnings).toEqual([expect.stringMatching(/newer at .* refuses seed and is asked without it/)]);

  const [first] = asked.filter(({ model, messages }) => model === 'idle' && messages.length > 1);
  expect(first).toMatchObject({ max_tokens: 2048, temperature: 0, top_p: 1, seed: expect.any(Number) });
  expect(first.messages.map(({ role }) => role)).toEqual(['system', 'user']);
  const picture = (first.messages[1].content as { image_url?: { url: string } }[]).find(
    (part) => part.image_url,
  );
  expect(picture!.image_url!.url).toMatch(/^data:image\/png;base64,iVBORw0KGgo/);
  // The option behind the checkpoint applies to it only: this candidate gets no explanation of the actions.
  const compact = asked.filter(
    ({ model, max_completion_tokens: limit }) => model === 'newer' && limit !== undefined,
  );
  expect(compact.flatMap(({ messages }) => messages.map(({ role }) => role))).not.toContain('system');
}, 120_000);

it('is recorded as a run that no service takes for its own', async () => {
  const nats = await startNats();
  process.env.NATS_URL = nats.url;
  const bus = await BusService.connect({ service: 'test', servers: [nats.url] });
  try {
    const opened: string[] = [];
    const watched = new AbortController();
    const watching = (async () => {
      for await (const { record } of bus.runs.watchOpen(undefined, watched.signal)) opened.push(record.runId);
    })();
    const { run, checkpoints } = await play([`${address}#idle`]);
    expect(run).toMatch(/^eval-\d{8}-\d{6}-[a-z0-9]{3}$/);
    const stored: Trajectory[] = [];
    for await (const each of bus.stored(STREAMS.trajectories, subjects.trajectory(run!, 'eval'), Trajectory))
      stored.push(each);
    const ids = checkpoints[0].tasks.flatMap(({ episodes }) => episodes.map(({ rollout_id: id }) => id));
    expect(stored.map(({ request }) => request.rolloutId).toSorted()).toEqual(ids.toSorted());
    const [{ turns, finalScreenshot, request }] = stored;
    expect(request).toMatchObject({ policy: `${address}#idle`, purpose: 'eval', runId: run });
    expect(turns).toMatchObject([{ text: '{"action":"finish","success":true}', tokenIds: [], logprobs: [] }]);
    for (const sha256 of [turns[0].screenshot, finalScreenshot!]) {
      expect(await bus.blobs.of(run!).get(sha256)).not.toBeNull();
    }
    const events = await Promise.all(
      ['run_created', 'phase', 'evaluation'].map(async (type) => {
        const found: object[] = [];
        for await (const each of bus.stored(STREAMS.events, subjects.event(run!, type)))
          found.push(each as object);
        return found;
      }),
    );
    expect(events[0]).toMatchObject([{ config: { model: { name: `${address}#idle` } } }]);
    expect(events[1]).toMatchObject([{ phase: 'final_eval' }, { phase: 'finished' }]);
    expect(events[2]).toMatchObject([
      { set: 'idle', checkpoint: `${address}#idle`, successRate: 0.5, episodes: 4 },
    ]);
    expect(await bus.runs.state(run!)).toMatchObject({ phase: 'finished' });
    watched.abort();
    await watching;
    expect(opened).toEqual([]);
  } finally {
    await bus.close();
    await nats.stop();
  }
}, 120_000);

it('plays what the verifier of the run file can judge without checks, and what rewards alone judge', async () => {
  const judges = join(folder, 'judges.js');
  writeFileSync(
    judges,
    `exports.components = [
      { kind: 'verifier', name: 'brief', judges: ({ id }) => id === 'brief', create: () => ({ verify: ({ task, turns }) => task.id === 'brief' ? turns.length === 1 : null }) },
      { kind: 'reward', name: 'quarter', judgesWithoutVerifier: true, create: () => ({ score: () => 0.25 }) },
    ];`,
  );
  const unchecked = join(folder, 'unchecked');
  mkdirSync(unchecked, { recursive: true });
  const lines = ['brief', 'free'].map((id) => JSON.stringify({ id, description: id, environment }));
  writeFileSync(join(unchecked, 'both.ndjson'), lines.join('\n'));
  const warnings: string[] = [];
  const evaluated = async (rewards: string[]) => {
    const runFile = { plugins: [judges], verifier: 'brief', rewards };
    const onWarning = (message: string) => warnings.push(message);
    // A folder of task files.
    return play([`${address}#idle`], { runFile, tasks: unchecked, onWarning });
  };
  const [verified] = (await evaluated(['task-success'])).checkpoints;
  expect(verified.tasks.map(({ id, score }) => [id, score?.success_rate])).toEqual([['brief', 1]]);
  const [both] = (await evaluated(['quarter'])).checkpoints;
  expect(both).toMatchObject({ score: { success_rate: 1, n: 2 }, unjudged: 2, mean_reward: 0.25 });
  expect(both.tasks[1]).toMatchObject({
    ...{ id: 'free', score: null, successes: 0, unjudged: 2, mean_reward: 0.25, pass_at_k: {} },
    episodes: [
      { success: null, reward: 0.25 },
      { success: null, reward: 0.25 },
    ],
  });
  expect(warnings).toEqual([
    expect.stringMatching(/^1 of 2 tasks are left out, since nothing of the run file can judge them: free$/),
    expect.stringMatching(/^1 of 2 tasks are judged by rewards alone/),
  ]);
}, 120_000);

it('an answer that fails makes an invalid episode, which is played again and counts for nothing', async () => {
  const progress: EvalProgress[] = [];
  const report = await play([`${address}#moody`], { onEpisode: (each) => progress.push(each) });
  expect(report.ended).toBeNull();
  expect(report.checkpoints[0]).toMatchObject({ score: null, invalid: 4, mean_turns: null });
  expect(report.checkpoints[0].tasks[0].episodes[0]).toMatchObject({
    status: 'invalid',
    invalid_reason: expect.stringMatching(/^policy: moody at http.* answered 400 the context is too long/),
    rollout_id: expect.stringMatching(/-a1$/),
  });
  expect(progress.at(-1)).toMatchObject({ done: 4, valid: 0, episodes: 4 });
}, 120_000);

it('a signal ends it with what was reached', async () => {
  const abort = new AbortController();
  const report = await play([`${address}#idle`, `${address}#newer`], {
    flags: ['--evaluation.episodes_per_task', '20', '--rollout.concurrency', '1'],
    signal: abort.signal,
    onEpisode: ({ done }) => done === 3 && abort.abort('SIGINT'),
  });
  expect(report.ended).toBe('stopped by SIGINT');
  expect(report.checkpoints).toHaveLength(1);
  expect(report.checkpoints[0].score!.n).toBe(3);
  expect(report.checkpoints[0].tasks.map(({ score }) => score?.n)).toEqual([2, 1]);
}, 120_000);

describe('reports errors before it plays', () => {
  const refused = (checkpoint: string, options?: Partial<EvaluateOptions>) =>
    play([checkpoint], options).then(
      () => 'nothing',
      (error: Error) => error.message,
    );

  it('an endpoint without a server', async () => {
    const nowhere = `http://127.0.0.1:${await freePort()}/v1`;
    expect(await refused(`${nowhere}#m`)).toBe(`${nowhere} cannot be reached: ECONNREFUSED`);
  }, 120_000);

  it('an endpoint that has no such model names those it has', async () => {
    expect(await refused(`${address}#other`)).toMatch(
      /^other at .* answered 404 no model other\. Its models: idle, newer, moody$/,
    );
    expect(await refused(address)).toBe(`${address} names no model: expected ${address}#model`);
  });

  it('an endpoint that wants a key gets its own, and no other does', async () => {
    const { origin } = new URL(address);
    wantsKey = true;
    expect(await refused(`${address}#idle`)).toMatch(
      `answered 401 no key. UIRL_ENDPOINT_KEYS=${origin}=KEY gives it one`,
    );
    process.env.UIRL_ENDPOINT_KEYS = `https://other.example=${KEY}`;
    process.env.OPENAI_API_KEY = KEY;
    expect(await refused(`${address}#idle`)).toMatch(/401/);
    expect(authorization).toEqual([undefined, undefined]);
    process.env.UIRL_ENDPOINT_KEYS = `${origin}=${KEY}`;
    expect(await refused(`${address}#other`)).toMatch(/404/);
    expect(await refused(`${address.replace('://', '://user:word@')}#idle`)).toMatch(/holds a password/);
  });

  it('a checkpoint that is not there', async () => {
    expect(await refused('./no-such')).toMatch(
      /^there is no checkpoint "\.\/no-such": expected a folder, uirl:\/\/.*small/,
    );
    expect(await refused(folder)).toMatch(/holds neither adapter_config\.json nor config\.json/);
    expect(await refused('uirl://run/000001')).toMatch(/is not the address of a checkpoint/);
  });

  it('no task, and what an endpoint cannot do', async () => {
    const model = `${address}#idle`;
    expect(await refused(model, { tasks: './none.yaml' })).toMatch(
      /^--tasks: there is no file or folder .*none\.yaml$/,
    );
    expect(await refused(model, { tasks: 'none.tsv' })).toMatch(
      /^--tasks: there is no file or folder .*none\.tsv$/,
    );
    expect(await refused(model, { tasks: 'no_such_source' })).toMatch(/no_such_source/);
    const unjudged = join(folder, 'unjudged.json');
    writeFileSync(unjudged, JSON.stringify([{ id: 'x', description: 'x', environment }]));
    expect(await refused(model, { tasks: unjudged })).toMatch(
      /^eval_tasks: none of 1 tasks has checks .* verifier "checks" could judge, and no reward/,
    );
    expect(await refused(`${model} --rollout.top_k 5`)).toMatch(/knows nothing of rollout\.top_k$/);
    const both = play([model, `${model} --training.seed 3`]);
    await expect(both).rejects.toThrow(/training\.seed .* are the same for all checkpoints/);
  });
});
