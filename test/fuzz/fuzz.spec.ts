import { join } from 'node:path';
import { fuzz } from './fuzz';
import { targets as bad } from './bad-targets';
import type { Order } from './target';
import { targets } from './targets';

const SEED = 1;
/** Inputs per target; for action formats, whose answers are cheapest, answers. The command runs many more. */
const INPUTS = 200;
const ANSWERS = 3_000;

const inputsOf = (target: string): number => (target.startsWith('answer/') ? ANSWERS : INPUTS);

function ordersOf(names: readonly string[]): () => Order | undefined {
  const orders = names.map((target) => ({ target, seed: SEED, from: 0, to: inputsOf(target) }));
  return () => orders.shift();
}

it('no reader of foreign data throws, hangs, crashes or keeps memory, for any input', async () => {
  const { turns } = await fuzz(ordersOf(targets.map(({ name }) => name)));
  expect(
    turns.flatMap(({ target, failure }) => (failure === undefined ? [] : { target, ...failure })),
  ).toEqual([]);
  expect(turns.map(({ target, to }) => `${target} ${to}`).toSorted()).toEqual(
    targets.map(({ name }) => `${name} ${inputsOf(name)}`).toSorted(),
  );
  // Both outcomes must occur: a target that refuses, or accepts, all inputs tests nothing.
  for (const { target, accepted } of turns) {
    expect(`${target}: ${accepted > 0}`).toBe(`${target}: true`);
    expect(`${target}: ${accepted < inputsOf(target)}`).toBe(`${target}: true`);
  }
}, 300_000);

it('finds every fault that it looks for, names the input, and continues with the next target', async () => {
  const options = { targets: join(__dirname, 'bad-targets.ts'), hangMs: 5_000, processes: 1 };
  const { turns } = await fuzz(ordersOf(bad.map(({ name }) => name)), options);
  const found = Object.fromEntries(turns.map(({ target, failure }) => [target, failure]));
  expect(found).toMatchObject({
    good: undefined,
    throws: { message: expect.stringMatching(/SyntaxError/) },
    'throws later': { at: 0, message: expect.stringMatching(/SyntaxError/) },
    hangs: { message: 'no answer for 5 s' },
    'takes long': { message: expect.stringMatching(/^Error: took \d+ ms of processor time/) },
    crashes: { message: expect.stringMatching(/the process ended with SIGSEGV/) },
    keeps: { message: expect.stringMatching(/^\d\d MB more are kept/) },
  });
  const { at } = found.crashes!;
  expect(at).toBeGreaterThan(0);
  const alone = [{ target: 'crashes', seed: SEED, from: at, to: at + 1 }];
  expect((await fuzz(() => alone.shift(), options)).turns[0].failure).toEqual(found.crashes);
}, 300_000);
