import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Dialect } from '@ui-rl/actions';
import { BusService } from '@ui-rl/bus';
import { type EpisodePlan, playRollout } from '@ui-rl/episode';
import { loadComponents } from '@ui-rl/plugin-kit';
import { sleep } from '@ui-rl/retry';
import { makeRollout, makeTask, type NatsServer, startNats } from '@ui-rl/testkit';
import { frame, PLAN, World } from '../../test/world';
import { overBroker } from './over-broker';
import { TIMEOUTS } from './timeouts';

const RUN = 'actor-answers';

/** A user's action format: coordinates in thousandths of the screen, several actions in one answer. */
const NORMALIZED = `
const format = ({ action, x, y, success }, { screenshot }) => action === 'finish'
  ? \`finish \${success}\`
  : \`\${action} \${Math.round((x / screenshot.width) * 1000)} \${Math.round((y / screenshot.height) * 1000)}\`;
const pixel = (thousandths, pixels) => Math.min(pixels - 1, Math.round((thousandths / 1000) * pixels));
const read = (text, { screenshot }) => {
  const [action, first, second] = text.trim().split(' ');
  if (action === 'finish') return { action, success: first === 'true' };
  return { action, x: pixel(Number(first), screenshot.width), y: pixel(Number(second), screenshot.height) };
};
module.exports.default = {
  kind: 'action-dialect',
  name: 'normalized',
  create: () => ({
    parse(text, sizes) {
      if (/^\\s*(click|finish)/.test(text)) return { ok: true, actions: text.split(';').map((part) => read(part, sizes)) };
      return { ok: false, reason: 'no_action', span: { start: 0, end: text.length, text }, correction: 'Answer click X Y.' };
    },
    format: (actions, sizes) => actions.map((action) => format(action, sizes)).join('; '),
    describe: ({ modelImage }) => \`The image has \${modelImage.width}×\${modelImage.height} pixels.\`,
  }),
};
`;

let nats: NatsServer;
let bus: BusService;
let other: BusService;
let folder: string;
let normalized: Dialect;
let world: World;
let broker: ReturnType<typeof overBroker>;

beforeAll(async () => {
  nats = await startNats();
  bus = await BusService.connect({ service: 'actor', servers: [nats.url] });
  other = await BusService.connect({ service: 'world', servers: [nats.url] });
  World.serve(other, RUN, () => world);
  folder = mkdtempSync(join(tmpdir(), 'dialect-'));
  writeFileSync(join(folder, 'normalized.js'), NORMALIZED);
  const components = await loadComponents({ packages: ['./normalized.js'], from: folder });
  normalized = components.create('action-dialect', { name: 'normalized' }, {});
});

afterAll(async () => {
  await bus.close();
  await other.close();
  await nats.stop();
  rmSync(folder, { recursive: true });
});

beforeEach(() => {
  world = new World(RUN);
  broker = overBroker(bus, RUN, { ...TIMEOUTS, openMs: 600, sessionMs: 300, policyMs: 400 });
});

function play(changes: Partial<EpisodePlan> = {}) {
  const dialect = { name: 'normalized', instance: normalized };
  return playRollout(makeRollout({ runId: RUN, task: makeTask({ maxSteps: 10 }) }), {
    ...broker,
    plan: { ...PLAN, dialect, ...changes },
    actor: 'actor-1',
    delivery: 1,
    stopping: new AbortController().signal,
  });
}

const click = (x: number, y: number) => ({ action: 'click', x, y });
const done = { action: 'finish', success: true };

test('several actions of an answer are carried out in order, within one turn', async () => {
  world.answers = ['click 500 500; click 1000 250', 'finish true'];
  const { turns, status, finalScreenshot, request } = await play();
  expect(status).toBe('completed');
  expect(world.steps.map(({ stepId, action }) => [stepId, action])).toEqual([
    [`${request.rolloutId}/0.0`, click(80, 112)],
    [`${request.rolloutId}/0.1`, click(159, 56)],
  ]);
  expect(turns).toMatchObject([
    { actions: [click(80, 112), click(159, 56)], outcome: 'ok' },
    { actions: [done], outcome: 'ok' },
  ]);
  const after = frame(`${request.rolloutId}/0.1`).sha256;
  expect(turns[1].screenshot).toBe(after);
  expect(finalScreenshot).toBe(after);
  expect(await bus.blobs.of(request.runId).get(after)).not.toBeNull();
});

test('actions after a failed one are not performed', async () => {
  world.answers = ['click 500 500; click 0 0; click 10 10'];
  world.step = (count) =>
    count === 2 ? { screenshot: frame('wrong'), outcome: 'outside_viewport', done: false } : undefined;
  const { turns } = await play({ maxTurns: 1 });
  expect(turns).toMatchObject([{ actions: [click(80, 112), click(0, 0)], outcome: 'outside_viewport' }]);
  expect(world.steps).toHaveLength(2);
});

test.each<[string, string, Record<string, unknown>[]]>([
  ['the agent is done', 'click 500 500; finish true; click 0 0', [click(80, 112), done]],
  ['the environment ends the episode', 'click 0 0; click 500 500', [click(0, 0)]],
])('nothing is carried out after %s', async (_end, answer, actions) => {
  world.answers = [answer];
  world.step = () => ({ screenshot: frame('last'), outcome: 'ok', done: answer.startsWith('click 0') });
  const { turns, status, finalScreenshot } = await play();
  expect(status).toBe('completed');
  expect(turns).toMatchObject([{ actions, outcome: 'ok' }]);
  expect(finalScreenshot).toBe(frame('last').sha256);
});

test('all actions of an answer share the time of their turn', async () => {
  world.answers = ['click 1 1; click 2 2; click 3 3'];
  world.step = async () => {
    await sleep(400);
    return { screenshot: frame('slow'), outcome: 'ok', done: false };
  };
  const { status, invalidReason } = await play({ turnTimeoutMs: 1_000 });
  expect({ status, invalidReason }).toEqual({
    status: 'invalid',
    invalidReason: 'deadline: turn 0 took longer than 1000 ms',
  });
});

test('a dialect receives the screenshot size that the model sees, for which the actor asks the learner once', async () => {
  world.answers = ['click 1 1', 'hm', 'finish true'];
  const { turns } = await play({ promptStyle: 'full' });
  expect(world.asked[0].messages[0].content[0].text).toContain('The image has 80×112 pixels.');
  expect(turns[1]).toMatchObject({
    actions: [],
    outcome: 'no_action',
    parseError: 'no_action: Answer click X Y.',
  });
  await play();
  expect(world.sizes).toEqual(['160×224']);
});

test.each<[string, Partial<Dialect>, string]>([
  [
    'fails',
    {
      parse: () => {
        throw new Error('no idea');
      },
    },
    'failed: no idea',
  ],
  ['reads nothing', { parse: () => ({ ok: true, actions: [] }) }, 'expected at least one'],
  [
    'makes up actions',
    { parse: () => ({ ok: true, actions: [{ action: 'click', x: 0.5, y: 1 }] }) },
    '"x" of click must be a whole number',
  ],
])('a dialect that %s makes the episode invalid and is named', async (_what, parts, reason) => {
  const instance = { ...normalized, ...parts };
  const { invalidReason, status } = await play({ dialect: { name: 'odd', instance } });
  expect(status).toBe('invalid');
  expect(invalidReason).toContain('dialect: action dialect "odd"');
  expect(invalidReason).toContain(reason);
});
