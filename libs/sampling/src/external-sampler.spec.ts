import type { Reply, SamplerOrders, SamplerReport } from '@ui-rl/contracts';
import type { Engine, SamplerProcesses, SamplerRequest, SampleResult } from '@ui-rl/plugin-kit';
import { ExternalSampler } from './external-sampler';
import { ExternalSamplerOptions } from './options';

const SCORES = [-1, -2, -3];
const digestOf = (weights: string): string => Buffer.from(weights).toString('hex').padEnd(64, '0');

type Answer = (id: string, request: { model: string }) => Promise<Reply<SampleResult>>;

/** Processes whose answers a test determines, and which load assigned weights immediately. */
class FakeProcesses implements SamplerProcesses {
  private readonly ended = new AbortController();
  readonly over = this.ended.signal;
  readonly answers = new Map<string, Answer>();
  readonly stored = new Set<string>();
  readonly notes: string[] = [];
  private report: (report: SamplerReport) => Promise<Pick<SamplerOrders, 'wanted'>>;

  answer(report: FakeProcesses['report']): void {
    this.report = report;
  }

  /** A process that reports until the test stops it. */
  async join(instance: string, answer: Answer, scores = SCORES): Promise<void> {
    this.answers.set(instance, answer);
    let holds: string[] = [];
    while (this.answers.get(instance) === answer && !this.over.aborted) {
      const told = { instance, host: 'h', device: 'cpu', rows: 2, holds, failed: [], scores };
      const { wanted } = await this.report(told);
      holds = wanted.map(({ digest }) => digest);
      await new Promise(setImmediate);
    }
  }

  sample(process: string, id: string, request: SamplerRequest): Promise<Reply<SampleResult>> {
    this.notes.push(`ask ${process}`);
    const answer = this.answers.get(process);
    return answer === undefined ? Promise.resolve(refusal('no_responders')) : answer(id, request);
  }

  cancel(process: string): void {
    this.notes.push(`cancel ${process}`);
  }

  move(process: string, { from, to }: { from: string; to: string }): Promise<Reply<unknown>> {
    this.notes.push(`move ${process} ${from === digestOf('one') && to === digestOf('two')}`);
    return Promise.resolve({ ok: true, value: {} });
  }

  warn(message: string): void {
    this.notes.push(`warn ${message}`);
  }

  async store(digest: string): Promise<void> {
    this.stored.add(digest);
  }

  async remove(digest: string): Promise<void> {
    this.stored.delete(digest);
  }

  async stop(): Promise<void> {
    this.ended.abort();
  }
}

const refusal = (code: string): Reply<never> => ({ ok: false, error: { code, message: `said ${code}` } });
const says: Answer = (_id, { model }) =>
  Promise.resolve({
    ok: true,
    value: { tokens: [1], logprobs: [-0.5], stopReason: 'stop', digest: model },
  });

let processes: FakeProcesses;
let sampler: ExternalSampler;
let released: string[];

function open(changes: Partial<ExternalSamplerOptions> = {}, deterministic = false): void {
  processes = new FakeProcesses();
  released = [];
  const engine = {
    exportWeights: ({ name }: { name: string }) =>
      Promise.resolve({ version: 0, digest: digestOf(name), isBase: name === 'base' }),
    releaseWeights: (name: string) => Promise.resolve(void released.push(name)),
  } as unknown as Engine;
  sampler = new ExternalSampler(Object.assign(new ExternalSamplerOptions(), changes), {
    ...{ engine, processes, deterministic, runId: 'run', sharedDir: '/nowhere', imageTokenId: 0 },
    baseScores: SCORES,
    probes: () => [[1, 2, 3, 4]],
    fetchImage: () => Promise.resolve(null),
    apiKeyOf: () => undefined,
    log: () => undefined,
  });
}

beforeEach(() => open());
afterEach(() => sampler.stop());

const request = (model: string, changes: Partial<SamplerRequest> = {}): SamplerRequest => ({
  ...{ model, prompt: { chunks: [] }, maxTokens: 4, temperature: 1, topP: 1, seed: 1 },
  ...changes,
});
const asked = (): string[] => processes.notes.filter((note) => note.startsWith('ask'));

it('stores an adapter while anybody may ask for it, the model itself never', async () => {
  void processes.join('a', says);
  for (const weights of ['one', 'base', 'two']) await sampler.publish(weights);
  expect(processes.stored).toEqual(new Set([digestOf('one'), digestOf('two')]));
  await sampler.move('one', 'two');
  expect(processes.notes).toContain('move a true');
  await sampler.retire('one');
  expect(processes.stored).toEqual(new Set([digestOf('two')]));
  expect(released).toEqual(['one']);
  await expect(sampler.sample(request('one'))).rejects.toThrow('no published weights "one"');
  expect((await sampler.sample(request('two'))).digest).toBe(digestOf('two'));
});

it('keeps an adapter until those have ended that sample with it', async () => {
  let finish: () => void = () => undefined;
  void processes.join('a', async (id, of) => {
    await new Promise<void>((resolve) => (finish = resolve));
    return says(id, of);
  });
  await sampler.publish('one');
  const sampling = sampler.sample(request('one'));
  await new Promise(setImmediate);
  await sampler.retire('one');
  expect(processes.stored.has(digestOf('one'))).toBe(true);
  finish();
  await sampling;
  expect(processes.stored.size).toBe(0);
});

it.each(['no_responders', 'stopping', 'timeout', 'internal', 'unknown_weights', 'bad_reply'])(
  'asks another process after %s',
  async (code) => {
    void processes.join('a', () => Promise.resolve(refusal(code)));
    void processes.join('b', says);
    await sampler.publish('one');
    const results = await Promise.all([1, 2, 3].map((seed) => sampler.sample(request('one', { seed }))));
    expect(results.map(({ tokens }) => tokens)).toEqual([[1], [1], [1]]);
    expect(asked()).toContain('ask a');
  },
);

it('takes neither other weights nor too many tokens for an answer', async () => {
  void processes.join('a', async () => says('', { model: digestOf('two') }));
  void processes.join('b', says);
  await sampler.publish('one');
  expect((await sampler.sample(request('one', { maxTokens: 1 }))).digest).toBe(digestOf('one'));
});

it('does not retry a bad request with another process', async () => {
  for (const name of ['a', 'b']) void processes.join(name, () => Promise.resolve(refusal('bad_request')));
  await sampler.publish('one');
  const refused = { category: 'request', message: 'said bad_request' };
  await expect(sampler.sample(request('one'))).rejects.toMatchObject(refused);
  expect(asked()).toHaveLength(1);
});

it('ends aborted requests', async () => {
  void processes.join('a', () => new Promise(() => undefined));
  await sampler.publish('one');
  const gone = new AbortController();
  const sampling = sampler.sample(request('one', { signal: gone.signal }));
  await new Promise(setImmediate);
  gone.abort(new Error('gone'));
  await expect(sampling).rejects.toThrow('gone');
  expect(processes.notes).toContain('cancel a');
});

it('asks nothing of a process that has another model, and of none whose numbers differ where a run repeats', async () => {
  open({ wait_minutes: 0.01 });
  void processes.join('other', says, [-1, -2, -4]);
  await expect(sampler.publish('one')).rejects.toThrow('there is none');
  await sampler.stop();
  open({ wait_minutes: 0.01 }, true);
  void processes.join('rounded', says, [-1, -2, -3.0000001]);
  await expect(sampler.publish('one')).rejects.toMatchObject({ category: 'samplers' });
  expect(processes.stored.size).toBe(0);
});
