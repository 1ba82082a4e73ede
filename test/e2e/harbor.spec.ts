import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTask, startRun, type Policy } from '@ui-rl/api';
import { sha256 } from '@ui-rl/bus';
import type { TrainStepEvent } from '@ui-rl/contracts';
import { McpDesktop } from '../../plugins/env-openenv/test/desktop';
import { harbor } from '../../plugins/task-source-harbor/src';
import { HarborOptions } from '../../plugins/task-source-harbor/src/options';
import { FILES, writeTask } from '../../plugins/task-source-harbor/test/write-task';
import { LEFT, RIGHT, ServedForm } from '../../services/env/test/served-form';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'uirl-harbor-'));
  process.env.UIRL_RUNS_DIR = join(folder, 'runs');
  process.env.HARBOR_TESTS = 'offline';
});
afterEach(() => {
  delete process.env.UIRL_RUNS_DIR;
  delete process.env.HARBOR_TESTS;
  rmSync(folder, { recursive: true, force: true });
});

/** A policy that gives these answers, turn by turn. */
function answering(...actions: object[]): Policy {
  let at = 0;
  return {
    modelImage: async (size) => size,
    act: async ({ images }) => ({
      ...{
        promptTokenIds: [1],
        promptImages: images.map((png) => sha256(png as Uint8Array)),
        imageTokens: 1,
        tokenIds: [2],
        logprobs: [-1],
      },
      ...{ text: JSON.stringify(actions[at++]), finishReason: 'stop', policyVersion: 0, adapterDigest: '' },
    }),
  };
}

describe('a task of Harbor, on the page that an env service serves as MCP tools,', () => {
  let form: ServedForm;
  beforeAll(async () => (form = await ServedForm.open()));
  afterAll(() => form.close());

  const finish = (message: string) => ({ action: 'finish', success: true, message });
  const TEST = `#!/bin/sh
grep -q '"success":true' /logs/agent/state.json || { echo 0 > /logs/verifier/reward.txt; exit 1; }
if [ "$(cat /app/code.txt)" = "$(cat /tests/expected.txt)" ]; then echo 1; else echo 0.5; fi > /logs/verifier/reward.txt
`;

  it.each([
    [[LEFT, finish('K-42')], 1, true],
    [[LEFT, finish('K-41')], 0.5, false],
    [[RIGHT, finish('K-42')], 0, false],
  ])('is worth what its test.sh writes: %j → %d', async (actions, reward, success) => {
    writeTask(folder, { 'tests/test.sh': TEST });
    const address = `${form.server.url}/mcp`;
    const options = { path: folder, servers: { 'http://desktop:8000/mcp': [address] } };
    const context = { log: () => undefined, resolve: () => null };
    const deadline = { deadlineAt: Infinity, signal: new AbortController().signal };
    const source = harbor.create(Object.assign(new HarborOptions(), options), context);
    const [task] = await source.load(deadline);
    const episode = await runTask(task, {
      policy: answering(...actions),
      seed: 3,
      runFile: {
        environment: {
          kind: {
            name: 'mcp',
            // Nothing answers at the other one.
            servers: ['http://127.0.0.1:9/mcp', address],
            begin: { name: 'start_episode', arguments: { task_id: 'first', seed: '$seed' } },
            every_call: { episode_id: '$episode_id' },
            end: { name: 'end_episode' },
          },
        },
        rewards: { name: 'harbor-tests', path: folder, answer_file: '/app/code.txt' },
      },
    });
    expect(episode.invalidReason).toBeUndefined();
    expect(episode).toMatchObject({
      ...{ status: 'completed', success: null, reward, rewards: { 'harbor-tests': reward } },
      verdicts: { 'harbor-tests': success },
    });
    expect(form.sessionCount()).toBe(0);
  });
});

describe('a training run of such tasks, on a desktop with the tools of Harbor,', () => {
  let desktop: McpDesktop;
  beforeAll(async () => (desktop = await McpDesktop.start()));
  afterAll(() => desktop.stop());

  const runFile = () => `
model: { name: small, prompt: compact, lora: { rank: 4 } }
environment:
  max_sessions: 2
  kind:
    name: mcp
    servers: ['${desktop.url}']
    sessions_per_server: 2
    tools:
      click: { name: click, arguments: { x: $x, y: $y } }
      type: { name: type_text, arguments: { text: $text } }
tasks: { source_type: harbor, path: ./tasks, servers: { 'http://desktop:8000/mcp': ['${desktop.url}'] } }
rewards: { name: harbor-tests, path: ./tasks }
rollout: { max_tokens: 48, max_turns: 2, group_size: 4, constrain_actions: true }
training: { batch_size: 8, max_steps: 1, eval_every: 0 }
evaluation: { baseline: false }
`;

  it('uploads the folders, and trains on the rewards of their tests', async () => {
    // The answers of an untrained model differ, and their lengths with them.
    const test = `#!/bin/sh
set -- $(wc -c < /logs/agent/state.json); echo "0.$1" > /logs/verifier/reward.txt
`;
    for (const name of ['one', 'two']) {
      const toml = FILES['task.toml'].replace('uirl/read-code', `uirl/${name}`);
      const goal = `Read the code of ${name}.`;
      writeTask(join(folder, 'tasks', name), {
        'task.toml': toml,
        'tests/test.sh': test,
        'instruction.md': goal,
      });
    }
    writeFileSync(join(folder, 'run.yaml'), runFile());
    const steps: TrainStepEvent[] = [];
    const run = await startRun(join(folder, 'run.yaml'), {
      services: 'own',
      onEvent: (event) => void (event.type === 'train_step' && steps.push(event)),
    });
    try {
      expect(await run.end()).toMatchObject({ train_steps: 1, invalid_share: 0 });
    } finally {
      await run.stop();
    }
    const paid = steps[0].metrics['env/all/reward/harbor-tests'];
    expect(paid).toBeGreaterThan(0);
    expect(paid).toBeLessThan(1);
    expect(new Set(desktop.calls.map(({ name }) => name))).toContain('screenshot');
  }, 300_000);
});
