import { BusError } from '@ui-rl/bus';
import type { Engine, Sampler } from '@ui-rl/plugin-kit';
import { eventually } from '@ui-rl/testkit';
import { PolicyWeights } from './policy-weights';

const checkpoint = (step: number): string => `uirl://run/sampler_weights/00000${step}`;

/** Weights over an engine and a sampler that record their calls. */
function makeWeights(updatesInFlight = false): { weights: PolicyWeights; calls: string[] } {
  const calls: string[] = [];
  const engine = {
    saveWeightsForSampler: ({ name }: { name: string }) => Promise.resolve({ version: 0, digest: name }),
  };
  const note = (what: string) => (weights: string) => Promise.resolve(void calls.push(`${what} ${weights}`));
  const move = (from: string, to: string) => note(`move ${from} to`)(to);
  const sampler = { publish: note('publish'), retire: note('retire'), move };
  const locate = (name: string): Promise<string> =>
    name === checkpoint(9)
      ? Promise.reject(new BusError('missing', 'there is no checkpoint 9'))
      : Promise.resolve(`/checkpoints/${name}`);
  const parts = [engine, sampler] as unknown as [Engine, Sampler];
  return { weights: new PolicyWeights(...parts, { runId: 'run', locate, updatesInFlight }), calls };
}

/** Like a request, it samples with the weights that it found, even if they change meanwhile. */
async function sample(weights: PolicyWeights, policy: string, calls: string[]): Promise<string> {
  const found = await weights.find(policy);
  if ('error' in found) return found.error.code;
  calls.push(`sample ${found.weights}`);
  return found.weights;
}

it('retires weights after the requests that have found them, also where more are wanted than stay loaded', async () => {
  const { weights, calls } = makeWeights();
  await weights.publish(0);
  await weights.activate(0, 'zero');
  const steps = [1, 2, 3, 4];
  const sampled = await Promise.all(steps.map((step) => sample(weights, checkpoint(step), calls)));
  await eventually('two to be retired', () => calls.filter((call) => call.startsWith('retire')).length >= 2);
  for (const name of sampled.slice(0, 2)) {
    const retired = calls.indexOf(`retire ${name}`);
    expect(retired).toBeGreaterThan(calls.indexOf(`sample ${name}`));
  }
  for (const name of sampled.slice(2)) expect(calls).not.toContain(`retire ${name}`);
});

it('retires the policy that was served when the next one is', async () => {
  const { weights, calls } = makeWeights();
  await weights.publish(0);
  await weights.activate(0, 'zero');
  await weights.publish(1);
  const [name] = await Promise.all([sample(weights, 'latest', calls), weights.activate(1, 'one')]);
  expect(calls.slice(-2)).toEqual([`sample ${name}`, `retire ${name}`]);
  expect(await sample(weights, checkpoint(1), calls)).toBe('step-000001');
});

it('moves what is being sampled to the next policy where the run wants that, before the old one is retired', async () => {
  const { weights, calls } = makeWeights(true);
  await weights.publish(0);
  await weights.activate(0, 'zero');
  await weights.publish(1);
  const [name] = await Promise.all([sample(weights, 'latest', calls), weights.activate(1, 'one')]);
  expect(calls.slice(-3)).toEqual([`sample ${name}`, `move ${name} to step-000001`, `retire ${name}`]);
  // A step that changed nothing: requests for the weights refer to the latest step.
  await weights.publish(2);
  await weights.activate(2, 'one');
  expect([weights.stepOf('zero'), weights.stepOf('one')]).toEqual([0, 2]);
  expect(() => weights.stepOf('two')).toThrow('no policy of this process had the digest two');
});

it('loads a checkpoint once, and again after it could not be had', async () => {
  const { weights, calls } = makeWeights();
  await weights.publish(0);
  await weights.activate(0, 'zero');
  const names = await Promise.all([1, 1].map((step) => sample(weights, checkpoint(step), calls)));
  expect(new Set(names).size).toBe(1);
  expect(await sample(weights, checkpoint(9), calls)).toBe('unknown_policy');
  expect(await sample(weights, 'newest', calls)).toBe('unknown_policy');
});
