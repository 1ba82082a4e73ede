import { Logger } from '@nestjs/common';
import {
  ComponentRegistry,
  type Component,
  type TrackedStep,
  type Tracker,
  type TrackerComponent,
} from '@ui-rl/plugin-kit';
import { Trackers } from './trackers';

const context = { runId: 'run', runDir: '/nowhere', config: {} };
const first: TrackedStep = { step: 1, at: '2026-11-22T00:00:00.000Z', metrics: { 'optim/loss': 1 } };
const told: string[] = [];
let errors: string[];

function tracker(name: string, made: Partial<Tracker>): TrackerComponent {
  const nothing = (): Promise<void> => Promise.resolve();
  return { kind: 'tracker', name, create: () => ({ step: nothing, close: nothing, ...made }) };
}

const note = (what: string) => (): Promise<void> => {
  told.push(what);
  return Promise.resolve();
};

const available: TrackerComponent[] = [
  tracker('good', {
    resume: (step: number) => note(`resume ${step}`)(),
    step: ({ step }: TrackedStep) => note(`step ${step}`)(),
    evaluation: ({ set }: { set: string }) => note(`evaluation of ${set}`)(),
    checkpoint: ({ name, path }: { name: string; path: string }) => note(`checkpoint ${name} in ${path}`)(),
    close: note('close'),
  }),
  tracker('throws', {
    step: () => {
      throw new Error('the server is gone');
    },
    close: () => Promise.reject(new Error('still gone')),
  }),
  tracker('hangs', { step: () => new Promise(() => undefined) }),
  { kind: 'tracker', name: 'stillborn', create: () => Promise.reject(new Error('no such server')) },
];

beforeEach(() => {
  told.length = 0;
  errors = [];
  jest.spyOn(Logger.prototype, 'error').mockImplementation((message) => void errors.push(String(message)));
});
afterEach(() => jest.restoreAllMocks());

function start(...names: string[]): Promise<Trackers> {
  const loaded = available.map((component) => ({ component: component as Component, file: 'here' }));
  return Trackers.create(
    names.map((name) => ({ name })),
    new ComponentRegistry(loaded),
    context,
    50,
  );
}

it('reports to all trackers of a run, with any fault of one of them', async () => {
  const trackers = await start('throws', 'hangs', 'stillborn', 'good');
  await trackers.resume(0);
  await trackers.step(first);
  await trackers.evaluation({
    ...first,
    stage: 'final',
    set: 'eval_goals',
    successRate: 1,
    episodes: 4,
    metrics: {},
  });
  const { step, at } = first;
  await trackers.checkpoint({ step, at, name: '000001', path: '/runs/1', address: 'uirl://run/1' });
  await trackers.close();
  const checkpoint = 'checkpoint 000001 in /runs/1';
  expect(told).toEqual(['resume 0', 'step 1', 'evaluation of eval_goals', checkpoint, 'close']);
  expect(errors).toEqual([
    'tracker stillborn cannot record this run: no such server',
    'tracker throws failed to record step 1: the server is gone',
    'tracker hangs failed to record step 1: it took longer than 0.05 seconds',
    'tracker throws failed to end: still gone',
  ]);
});

it('refuses an unknown tracker, by name', async () => {
  await expect(start('goo')).rejects.toThrow('no tracker is named "goo"');
});
