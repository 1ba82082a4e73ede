import { readFile, writeFile } from 'node:fs/promises';
import { PluginError } from '@ui-rl/plugin-kit';
import { SettingsError } from '@ui-rl/settings';
import { freePort } from '@ui-rl/testkit';
import { causesOf, isMisconfiguration, Misconfigured, passes } from './failures';

const wrapped = (cause: unknown): Error => new Error('the learner cannot start', { cause });

it('distinguishes failures that need operator action from transient ones, at any depth of causes', async () => {
  for (const error of [
    new PluginError('unknown', 'no such reward'),
    new SettingsError([{ category: 'file', message: 'tasks[0].path was never uploaded' }]),
    new Misconfigured('choose another logging.log_dir'),
  ]) {
    expect([isMisconfiguration(wrapped(wrapped(error))), passes(wrapped(error))]).toEqual([true, false]);
  }
  const full: unknown = await writeFile('/dev/full', 'x').catch((error: unknown) => error);
  expect([isMisconfiguration(wrapped(full)), passes(wrapped(full))]).toEqual([false, true]);
  const closed: unknown = await fetch(`http://127.0.0.1:${await freePort()}`).catch(
    (error: unknown) => error,
  );
  expect(passes(closed)).toBe(true);
});

it('any other failure is unexpected', async () => {
  const missing: unknown = await readFile('/nowhere/at/all').catch((error: unknown) => error);
  for (const error of [missing, new TypeError('x is undefined'), 'a text', undefined, null]) {
    expect([isMisconfiguration(error), passes(error)]).toEqual([false, false]);
  }
  expect([...causesOf(wrapped(wrapped('a text')))]).toHaveLength(2);
});
