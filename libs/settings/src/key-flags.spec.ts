import { loadComponents, type ComponentRegistry } from '@ui-rl/plugin-kit';
import { refuseKeys, refuseUnreadKeys, SettingsError, takeKeys } from './index';

let registry: ComponentRegistry;
beforeAll(async () => {
  registry = await loadComponents();
});

it('takes keys out of the flags, in every way they are written', () => {
  const flags = [
    '--training.seed',
    '1',
    '--gbox_api_key',
    'g-1',
    '--tinker-api-key=t=2',
    '--hf_token',
    'h',
    '--evaluation.baseline',
  ];
  expect(takeKeys(flags)).toEqual({
    keys: { GBOX_API_KEY: 'g-1', TINKER_API_KEY: 't=2', HF_TOKEN: 'h' },
    flags: ['--training.seed', '1', '--evaluation.baseline'],
  });
  expect(takeKeys(['--rollout.max_tokens', '3', '--model.name', 'x_api_key'])).toEqual({
    keys: {},
    flags: ['--rollout.max_tokens', '3', '--model.name', 'x_api_key'],
  });
});

it.each([[['--gbox_api_key']], [['--gbox_api_key', '--training.seed']], [['--gbox_api_key=']]])(
  'refuses %j, a key without a value',
  (flags) => {
    expect(() => takeKeys(flags)).toThrow(
      new SettingsError([{ category: 'missing', message: '--gbox_api_key needs a value' }]),
    );
  },
);

it('refuses a key that nothing reads, and never shows one', () => {
  const { keys } = takeKeys(['--gboxx_api_key', 'secret']);
  expect(() => refuseUnreadKeys(keys, registry)).toThrow(
    /^unknown option --gboxx_api_key: keys are .*--tinker_api_key, --gbox_api_key/,
  );
  expect(() => refuseKeys(keys)).not.toThrow('secret');
  const known = takeKeys([
    '--gbox_api_key',
    'a',
    '--tinker_api_key',
    'b',
    '--judge_api_keys',
    'c',
    '--hf_token',
    'e',
  ]);
  expect(() => refuseUnreadKeys(known.keys, registry)).not.toThrow();
});

it('says how services that run already get a key', () => {
  expect(() => refuseKeys({})).not.toThrow();
  expect(() => refuseKeys({ GBOX_API_KEY: 'secret' })).toThrow(
    /^--gbox_api_key: the services of a broker run already.*npx ui-rl up --gbox_api_key KEY/,
  );
});
