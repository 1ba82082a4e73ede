import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { withoutSecrets } from '@ui-rl/plugin-kit';
import {
  ENVIRONMENT_VARIABLES,
  newRunId,
  readCliSettings,
  readServiceSettings,
  readVariables,
} from './index';

describe('the environment of a service', () => {
  it('has defaults for a dedicated machine', () => {
    expect(readServiceSettings('actor', {})).toMatchObject({
      nats: { servers: ['nats://127.0.0.1:4222'], tls: undefined },
      database: { kind: 'pglite', dataDir: join(homedir(), '.local/share/ui-rl/runs/monitor-db') },
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
    expect(JSON.stringify(withoutSecrets(settings))).not.toMatch(/secret|p%40ss/);
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
    expect(JSON.stringify(withoutSecrets(readServiceSettings('learner', own)))).not.toContain('hf_Secret');
    expect(() => hub({ HF_ENDPOINT: 'hub' })).toThrow(/HF_ENDPOINT is "hub", expected an address/);
  });

  it('reads where blobs lie, and who we are there, of files as well', () => {
    const blobs = (env: Record<string, string>) => readServiceSettings('actor', env).nats.blobs;
    expect(blobs({ AWS_ACCESS_KEY_ID: 'AKID', AWS_SECRET_ACCESS_KEY: 'hush' })).toBeUndefined();
    expect(blobs({ BLOBS: 's3://lab-1' })).toEqual({ bucket: 'lab-1', prefix: '' });
    const folder = mkdtempSync(join(tmpdir(), 'blobs-'));
    writeFileSync(join(folder, 'key'), 'hush\n');
    const env = {
      BLOBS: 's3://lab/of/ours/',
      AWS_ENDPOINT_URL_S3: 'http://minio:9000',
      AWS_ENDPOINT_URL: 'http://others:1',
      AWS_REGION: 'eu-west-3',
      AWS_ACCESS_KEY_ID: 'AKID',
      AWS_SECRET_ACCESS_KEY_FILE: join(folder, 'key'),
    };
    expect(blobs(env)).toEqual({
      ...{ bucket: 'lab', prefix: 'of/ours', endpoint: 'http://minio:9000', region: 'eu-west-3' },
      credentials: { accessKeyId: 'AKID', secretAccessKey: 'hush' },
    });
    expect(JSON.stringify(withoutSecrets(readServiceSettings('actor', env)))).not.toContain('hush');
    rmSync(folder, { recursive: true });
    for (const BLOBS of ['lab', 's3://', 's3://Lab', 's3://lab/../x y', 'gs://lab', 's3://me:hush@lab'])
      expect(() => blobs({ BLOBS })).toThrow(
        /BLOBS is "(?!.*hush).*", expected s3:\/\/bucket or s3:\/\/bucket\/prefix/,
      );
    expect(() => blobs({ BLOBS: 's3://lab', AWS_ENDPOINT_URL_S3: 'http://me:hush@h:1' })).toThrow(
      /AWS_ENDPOINT_URL_S3 is "http:\/\/…@h:1", expected https:\/\/host:port/,
    );
    expect(() => blobs({ BLOBS: 's3://lab', AWS_SECRET_ACCESS_KEY: 'hush' })).toThrow(
      /AWS_SECRET_ACCESS_KEY is "\[hidden\]", expected AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together/,
    );
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
    const isExplained = (name: string) => Object.hasOwn(ENVIRONMENT_VARIABLES, name);
    const unexplained = [...read].filter((name) => !isExplained(name));
    // One explanation covers all variables for files of secrets.
    expect(unexplained.filter((name) => !isExplained(name.replace(/_FILE$/, '')))).toEqual([]);
  });

  describe('that hold secrets', () => {
    let folder: string;
    const written = (text: string): string => {
      const file = join(folder, 'secret');
      writeFileSync(file, text);
      return file;
    };

    beforeAll(() => (folder = mkdtempSync(join(tmpdir(), 'uirl-secrets-'))));
    afterAll(() => rmSync(folder, { recursive: true }));

    it('may be files, those of components, too', () => {
      const env = { POSTGRES_HOST: 'db', POSTGRES_PASSWORD_FILE: written('p w\n') };
      expect(readServiceSettings('monitor', env).database).toMatchObject({
        url: 'postgresql://postgres:p%20w@db:5432/postgres',
      });
      const keys = { UIRL_SAMPLER_KEYS_FILE: written('http://h:1=key') };
      expect(readServiceSettings('learner', keys).samplerKeys).toEqual({ 'http://h:1': 'key' });
      const nats = { NATS_PASSWORD_FILE: written('secret'), NATS_USER: 'ada' };
      expect(readServiceSettings('actor', nats).nats).toMatchObject({ user: 'ada', password: 'secret' });
      expect(readVariables(['GBOX_API_KEY'], { GBOX_API_KEY_FILE: written('gbox') })).toEqual({
        GBOX_API_KEY: 'gbox',
      });
      expect(
        readServiceSettings('monitor', { MONITOR_TOKEN_FILE: written('') }).monitor.token,
      ).toBeUndefined();
    });

    it('are refused by name where the file is not there, or the variable is set as well', () => {
      const absent = { MONITOR_TOKEN_FILE: join(folder, 'absent') };
      expect(() => readServiceSettings('monitor', absent)).toThrow(/MONITOR_TOKEN_FILE.*ENOENT/);
      expect(() => readVariables(['GBOX_API_KEY'], { GBOX_API_KEY_FILE: '/' })).toThrow(
        /GBOX_API_KEY_FILE.*EISDIR/,
      );
      const both = { NATS_TOKEN: 'a-secret', NATS_TOKEN_FILE: written('b-secret') };
      expect(() => readServiceSettings('actor', both)).toThrow(/NATS_TOKEN and NATS_TOKEN_FILE are both set/);
      expect(() => readServiceSettings('actor', both)).not.toThrow(/-secret/);
    });

    it('are the only ones that may', () => {
      const env = { UIRL_RUN_FILE: written('run-1') };
      expect(() => readServiceSettings('actor', env)).toThrow(/unknown environment variable UIRL_RUN_FILE/);
    });
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

it('keeps keys of samplers by the address of their server, and shows none that it refuses', () => {
  const keys = 'http://gpu-1:8000=secret-a=, https://gpu-2=secret-b';
  expect(readServiceSettings('learner', { UIRL_SAMPLER_KEYS: keys }).samplerKeys).toEqual({
    'http://gpu-1:8000': 'secret-a=',
    'https://gpu-2': 'secret-b',
  });
  const read = () => readServiceSettings('learner', { UIRL_SAMPLER_KEYS: 'gpu-1=secret-a' });
  expect(read).toThrow(/UIRL_SAMPLER_KEYS is "\[hidden\]"/);
});
