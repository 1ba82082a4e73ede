import { homedir } from 'node:os';
import { join } from 'node:path';
import { environmentHelp, newRunId, readCliSettings, readServiceSettings, redact } from './index';

describe('the environment of a service', () => {
  it('has defaults for a machine of its own', () => {
    expect(readServiceSettings('actor', {})).toMatchObject({
      nats: { servers: ['nats://127.0.0.1:4222'], tls: undefined },
      database: { kind: 'pglite', dataDir: join(process.cwd(), 'runs', 'monitor-db') },
      monitor: { host: '127.0.0.1', port: 8080 },
      run: undefined,
      logLevel: 'log',
    });
  });

  it('reads credentials, TLS and the database in both forms', () => {
    const env = {
      NATS_URL: 'tls://a:4222, tls://b:4222',
      NATS_USER: 'ada',
      NATS_PASSWORD: 'secret',
      NATS_TLS_CA: '/ca.pem',
      POSTGRES_HOST: 'db',
      POSTGRES_USER: 'training_user',
      POSTGRES_PASSWORD: 'p@ss',
      POSTGRES_DB: 'training_db',
    };
    const settings = readServiceSettings('monitor', env);
    expect(settings.nats).toMatchObject({
      servers: ['tls://a:4222', 'tls://b:4222'],
      user: 'ada',
      tls: { caFile: '/ca.pem' },
    });
    expect(settings.database).toEqual({
      kind: 'postgres',
      url: 'postgresql://training_user:p%40ss@db:5432/training_db',
    });
    expect(JSON.stringify(redact(settings))).not.toMatch(/secret|p%40ss/);
    expect(readServiceSettings('monitor', { ...env, DATABASE_URL: 'postgresql://x/y' }).database).toEqual({
      kind: 'postgres',
      url: 'postgresql://x/y',
    });
  });

  it('reads how to reach the model hub as Python does, and does not show the token', () => {
    const hub = (env: Record<string, string>) => readServiceSettings('learner', env).hub;
    expect(hub({})).toEqual({
      endpoint: 'https://huggingface.co',
      cacheDir: join(homedir(), '.cache/huggingface/hub'),
      token: undefined,
      tokenFile: join(homedir(), '.cache/huggingface/token'),
      offline: false,
    });
    const own = {
      HF_HOME: '~/hf',
      HF_TOKEN: 'hf_Secret',
      HF_HUB_OFFLINE: 'TRUE',
      HF_ENDPOINT: 'http://h:1/',
    };
    expect(hub(own)).toMatchObject({
      cacheDir: join(homedir(), 'hf/hub'),
      offline: true,
      endpoint: 'http://h:1',
    });
    expect(hub({ ...own, HF_HUB_CACHE: '/c' }).cacheDir).toBe('/c');
    expect(JSON.stringify(redact(readServiceSettings('learner', own)))).not.toContain('hf_Secret');
    expect(() => hub({ HF_ENDPOINT: 'hub' })).toThrow(/HF_ENDPOINT is "hub", expected an address/);
  });

  it('names every variable that is wrong, without telling passwords', () => {
    const env = {
      NATS_URL: 'http://ada:secret@a',
      MONITOR_PORT: '99999',
      UIRL_RUN: 'a b',
      NATS_TLS_CERT: '/c',
      UIRL_LOG_LEVEL: 'loud',
    };
    const reading = () => readServiceSettings('actor', env);
    for (const name of Object.keys(env))
      expect(reading).toThrow(new RegExp(`environment variable ${name} is`));
    expect(reading).not.toThrow(/secret/);
  });
});

describe('environment variables', () => {
  it('are all explained', () => {
    const read = new Set<string>();
    const recording = new Proxy<Record<string, string | undefined>>(
      { NATS_URL: 'tls://a:1', POSTGRES_HOST: 'db', UIRL_SETUP_SECONDS: '1' },
      {
        get: (target, name: string) => {
          read.add(name);
          return target[name];
        },
      },
    );
    readCliSettings(recording);
    readCliSettings(new Proxy({}, { get: (_, name: string) => void read.add(name) }));
    expect(read.size).toBeGreaterThan(20);
    for (const name of read) expect(environmentHelp()).toContain(`  ${name} `);
  });

  it('of this project that are misspelt end the start', () => {
    expect(() => readServiceSettings('actor', { UIRL_RUN_DIR: '/x', OTHER: 'y' })).toThrow(
      'unknown environment variable UIRL_RUN_DIR. Did you mean UIRL_RUNS_DIR',
    );
  });
});

describe('run ids', () => {
  it('carry name and time', () => {
    expect(newRunId('quick', new Date('2026-11-20T09:08:07Z'))).toMatch(
      /^quick-20261120-090807-[a-z0-9]{3}$/,
    );
    expect(() => newRunId('a b')).toThrow(/logging.run_name is "a b"/);
  });
});

it('serves the policy by OpenAI’s API nowhere unless told where, and shows no key that it refuses', () => {
  expect(readServiceSettings('learner', {}).policyEndpoint).toBeUndefined();
  const env = {
    POLICY_PORT: '0',
    POLICY_API_KEYS: 'sixteen-letters-a, sixteen-letters-b',
    POLICY_MAX_BODY_MB: '2',
  };
  expect(readServiceSettings('learner', env).policyEndpoint).toMatchObject({
    host: '127.0.0.1',
    keys: ['sixteen-letters-a', 'sixteen-letters-b'],
    maxRequests: 64,
    maxBodyBytes: 2 ** 21,
  });
  const read = () => readServiceSettings('learner', { ...env, POLICY_API_KEYS: 'too-short' });
  expect(read).toThrow(/POLICY_API_KEYS is "\[hidden\]"/);
});

it('hides secrets, but not limits', () => {
  expect(redact({ max_tokens: 5, api_key: 'k', deep: [{ token: 't' }], url: 'nats://tok@h' })).toEqual({
    max_tokens: 5,
    api_key: '[hidden]',
    deep: [{ token: '[hidden]' }],
    url: 'nats://[hidden]@h',
  });
});

it('keeps keys of samplers by the address of their server, and shows none that it refuses', () => {
  const keys = 'http://gpu-1:8000=secret-a=, https://gpu-2=secret-b';
  expect(readServiceSettings('learner', { UIRL_SAMPLER_KEYS: keys }).samplerKeys).toEqual({
    'http://gpu-1:8000': 'secret-a=',
    'https://gpu-2': 'secret-b',
  });
  const read = () => readServiceSettings('learner', { UIRL_SAMPLER_KEYS: 'gpu-1=secret-a' });
  expect(read).toThrow(/UIRL_SAMPLER_KEYS is "\[hidden\]"/);
});
