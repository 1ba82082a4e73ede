import { execFile, execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { parse } from 'yaml';
import { SERVICES, type ServiceName } from '@ui-rl/api';
import { ENVIRONMENT_VARIABLES, readServiceSettings } from '@ui-rl/settings';
import { freePort } from '@ui-rl/testkit';
import { VARIABLES as GBOX } from '../../plugins/env-gbox/src/machine';
import { ENVIRONMENT as TINKER } from '../../plugins/engine-tinker/src/options';
import { components as judges } from '../../plugins/reward-judge/src';
import { serveHealth } from '../../libs/service/src/health';
import { environmentOf, instructionsOf, lastOf, readStages } from './containerfile';

const ROOT = join(__dirname, '../..');
const FOLDER = join(ROOT, 'deploy/docker');
const [{ environment: JUDGE }] = judges;

interface ComposeService {
  image: string;
  build?: { context: string; dockerfile: string; target: string };
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  networks: string[];
  ports?: string[];
  tmpfs?: string[];
  volumes?: string[];
  secrets?: (string | { source: string; target: string })[];
  environment?: Record<string, string>;
  [option: string]: unknown;
}

interface Compose {
  services: Record<string, ComposeService>;
  networks: Record<string, { internal?: boolean }>;
  secrets: Record<string, { file: string }>;
  volumes: Record<string, object>;
}

/** As read by a container engine without variables. */
function readCompose(name: string): Compose {
  const text = readFileSync(join(FOLDER, name), 'utf8').replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
  return parse(text, { merge: true }) as Compose;
}

const compose = readCompose('compose.yaml');
const stages = readStages(join(FOLDER, 'Containerfile'));
const services = Object.entries(compose.services);
const own = services.filter(([, { build }]) => build !== undefined);

describe('the containers of deploy/docker', () => {
  let secrets: string;

  const makeSecrets = (): void => {
    execFileSync(process.execPath, [join(FOLDER, 'secrets.mjs'), secrets]);
  };

  beforeAll(() => {
    secrets = join(mkdtempSync(join(tmpdir(), 'uirl-secrets-')), 'secrets');
    makeSecrets();
  });

  afterAll(() => rmSync(join(secrets, '..'), { recursive: true }));

  /** Files in the container, by path: the local source of each of its secrets. */
  function mountedOf({ secrets: named = [] }: ComposeService): Map<string, string> {
    return new Map(
      named.map((secret) => {
        const { source, target } = typeof secret === 'string' ? { source: secret, target: secret } : secret;
        const { file } = compose.secrets[source];
        return [`/run/secrets/${target}`, file.replace('./secrets', secrets)];
      }),
    );
  }

  /** The environment of a service's process, with local paths. */
  function environmentIn(service: ComposeService): Record<string, string> {
    const image = environmentOf(instructionsOf(stages, service.build!.target));
    const mounted = mountedOf(service);
    const entries = Object.entries({ ...image, ...service.environment });
    return Object.fromEntries(entries.map(([name, value]) => [name, mounted.get(value) ?? value]));
  }

  it('are an image for each service, and run its program', () => {
    expect(Object.keys(compose.services)).toEqual(expect.arrayContaining([...SERVICES]));
    for (const name of SERVICES) {
      const { build, image } = compose.services[name];
      expect(build?.target).toBe(name);
      expect(existsSync(join(FOLDER, build!.context, build!.dockerfile))).toBe(true);
      expect(image).toBe(`ui-rl-${name}:latest`);
      const command = JSON.parse(lastOf(instructionsOf(stages, name), 'CMD')!) as string[];
      expect(command).toEqual(['node', `dist/services/${name}/src/main.js`]);
      expect(existsSync(join(ROOT, 'services', name, 'src/main.ts'))).toBe(true);
    }
  });

  it('have images whose names are variables', () => {
    const text = readFileSync(join(FOLDER, 'compose.yaml'), 'utf8');
    const images = [...text.matchAll(/^ +image: (.*)$/gm)].map(([, image]) => image);
    expect(images).toHaveLength(services.length);
    for (const image of images) expect(image).toMatch(/^\$\{[A-Z_]+_IMAGE:-\S+\}$/);
  });

  it('are never root, and answer for their health', () => {
    for (const [, { build }] of own) {
      const instructions = instructionsOf(stages, build!.target);
      expect(lastOf(instructions, 'USER')).toMatch(/^[1-9]\d*:[1-9]\d*$/);
      const check = lastOf(instructions, 'HEALTHCHECK')!;
      if (build!.target === 'cli') expect(check).toBe('NONE');
      else expect(JSON.parse(/CMD (.*)/.exec(check)![1])).toEqual(['node', 'deploy/docker/health.mjs']);
    }
  });

  it('have a browser where there are environments, and nowhere else', () => {
    for (const [name, { build }] of own) {
      const installs = instructionsOf(stages, build!.target).some(({ text }) =>
        text.includes('apt-get install'),
      );
      expect([name, installs]).toEqual([name, name === 'env']);
    }
    expect(instructionsOf(stages, 'env')).toContainEqual({
      name: 'ARG',
      text: 'ENV_PACKAGES="chromium fonts-dejavu-core"',
    });
  });

  it('for a GPU are those without, with what Vulkan needs and the capability by which a driver brings it', () => {
    for (const name of ['learner', 'sampler']) {
      const instructions = instructionsOf(stages, `${name}-gpu`);
      for (const kind of ['CMD', 'COPY', 'HEALTHCHECK', 'USER'])
        expect(lastOf(instructions, kind)).toBe(lastOf(instructionsOf(stages, name), kind));
      const installed = instructions.find(({ text }) => text.includes('apt-get install'))!.text;
      for (const library of ['libvulkan1', 'libegl1', 'libgl1', 'libxext6'])
        expect(installed.split(' ')).toContain(library);
      const environment = environmentOf(instructions);
      expect(environment).toMatchObject(environmentOf(instructionsOf(stages, name)));
      expect(environment).toMatchObject({
        NVIDIA_VISIBLE_DEVICES: 'all',
        LD_LIBRARY_PATH: '/usr/local/nvidia/lib64',
      });
      expect(environment.NVIDIA_DRIVER_CAPABILITIES.split(',')).toContain('graphics');
    }
  });

  it('have no privileges, and none to be had; write to memory and volumes alone', () => {
    for (const [name, service] of services) {
      expect([name, service.read_only, service.cap_drop]).toEqual([name, true, ['ALL']]);
      expect(service.security_opt).toContain('no-new-privileges:true');
      for (const option of ['privileged', 'network_mode', 'pid', 'ipc', 'cap_add', 'devices', 'userns_mode'])
        expect(service).not.toHaveProperty(option);
      const volumes = (service.volumes ?? []).map((volume) => volume.split(':'));
      for (const [source, , mode] of volumes)
        expect(Object.hasOwn(compose.volumes, source) || mode === 'ro').toBe(true);
      if (service.build === undefined) continue;
      const written = new Set([...(service.tmpfs ?? []), ...volumes.map(([, target]) => target)]);
      expect(written).toEqual(new Set(['/tmp', '/data', ...(name === 'ui-rl' ? ['/files'] : [])]));
    }
  });

  it('reach one another only; the page is published on this machine', () => {
    for (const [name, { networks, ports = [] }] of services) {
      const open = networks.filter((network) => compose.networks[network].internal !== true);
      expect([name, open]).toEqual([name, name === 'monitor' ? ['page'] : []]);
      expect(ports).toEqual(name === 'monitor' ? ['127.0.0.1:8080:8080'] : []);
    }
    const { monitor, postgres, nats } = compose.services;
    expect(postgres.networks).toEqual(['database']);
    for (const [, { networks }] of own) expect(networks).toEqual(expect.arrayContaining(nats.networks));
    expect(monitor.networks).toContain('database');
  });

  it.each(SERVICES)(
    'the %s understands its settings, and connects to the broker as its own user',
    (name: ServiceName) => {
      const service = compose.services[name];
      const environment = environmentIn(service);
      for (const variable of Object.keys(environment)) {
        if (variable === 'NODE_ENV') continue;
        expect(Object.keys(ENVIRONMENT_VARIABLES)).toContain(variable.replace(/_FILE$/, ''));
      }
      const { nats, health, runsDir, cacheDir, hub } = readServiceSettings(name, environment);
      expect(nats).toMatchObject({ user: name, servers: ['nats://nats:4222'] });
      expect(health).toEqual({ host: '127.0.0.1', port: 8081 });
      for (const folder of [runsDir, cacheDir, hub.cacheDir]) expect(folder).toMatch(/^\/data\//);
    },
  );

  it('the monitor listens where its page is published, asks for the token, and finds the database', () => {
    const { monitor, database } = readServiceSettings('monitor', environmentIn(compose.services.monitor));
    const token = readFileSync(join(secrets, 'monitor-token'), 'utf8');
    expect(monitor).toMatchObject({ host: '0.0.0.0', port: 8080, token, publicUrl: 'http://127.0.0.1:8080' });
    const { POSTGRES_USER: user, POSTGRES_DB: db } = compose.services.postgres.environment!;
    const password = readFileSync(join(secrets, 'postgres-password'), 'utf8');
    expect(database).toEqual({
      kind: 'postgres',
      url: `postgresql://${user}:${password}@postgres:5432/${db}`,
    });
  });

  it('the command line is the trainer at the broker, and the streams are made by the operator', () => {
    for (const [name, user] of [
      ['ui-rl', 'trainer'],
      ['streams', 'operator'],
    ]) {
      const service = compose.services[name];
      expect(service.build?.target).toBe('cli');
      expect(readServiceSettings('cli', environmentIn(service)).nats.user).toBe(user);
    }
  });

  it('read secrets from files alone, which are made once', () => {
    const isSecret = (name: string) => /PASSWORD|TOKEN|KEY|SECRET|DATABASE_URL/.test(name);
    for (const [, { environment = {} }] of services)
      expect(Object.keys(environment).filter((name) => isSecret(name) && !name.endsWith('_FILE'))).toEqual(
        [],
      );
    const files = [
      ...readdirSync(secrets),
      ...readdirSync(join(secrets, 'nats')).map((name) => `nats/${name}`),
    ];
    const contents = () =>
      files.filter((file) => file !== 'nats').map((file) => readFileSync(join(secrets, file), 'utf8'));
    const before = contents();
    makeSecrets();
    expect(contents()).toEqual(before);
    expect(new Set(before).size).toBe(before.length);
    // Any user in a container reads its own secrets; on the machine, no other user can access the folder.
    expect(statSync(secrets).mode & 0o777).toBe(0o700);
    for (const file of files.filter((name) => name !== 'nats'))
      expect([file, statSync(join(secrets, file)).mode & 0o777]).toEqual([file, 0o444]);
    for (const { file } of Object.values(compose.secrets))
      expect(files).toContain(file.replace('./secrets/', ''));
  });

  it('the broker reads its configuration where it is mounted, and stores where its volume is', () => {
    const { nats } = compose.services;
    expect(nats.command).toEqual(['-c', '/etc/nats/nats.conf']);
    expect(nats.volumes).toEqual(['./secrets/nats:/etc/nats:ro', 'nats:/var/lib/nats']);
    const conf = readFileSync(join(secrets, 'nats/nats.conf'), 'utf8');
    expect(conf).toContain('store_dir: "/var/lib/nats"');
    expect(conf).toContain('0.0.0.0:4222');
  });

  it('browsers get the namespaces that their sandbox is made of, and nothing that these would allow', () => {
    interface Profile {
      defaultAction: string;
      syscalls: { names: string[]; action: string; args?: object[] }[];
    }
    const [, file] = /^seccomp=\.\/(.*)$/.exec(compose.services.env.security_opt!.at(-1)!)!;
    const { defaultAction, syscalls } = JSON.parse(readFileSync(join(FOLDER, file), 'utf8')) as Profile;
    expect(defaultAction).toBe('SCMP_ACT_ALLOW');
    expect(syscalls.every(({ action }) => action === 'SCMP_ACT_ERRNO')).toBe(true);
    const refused = new Set(syscalls.filter(({ args }) => args === undefined).flatMap(({ names }) => names));
    for (const name of ['clone', 'clone3', 'unshare', 'chroot']) expect(refused).not.toContain(name);
    for (const name of ['mount', 'setns', 'pivot_root', 'bpf', 'init_module', 'keyctl', 'move_mount'])
      expect(refused).toContain(name);
  });

  it('are built from the sources alone: neither secrets nor runs get into an image', () => {
    const [first, ...rest] = readFileSync(join(ROOT, '.dockerignore'), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'));
    expect(first).toBe('*');
    const taken = rest.filter((line) => line.startsWith('!')).map((line) => line.slice(1));
    for (const path of taken) expect([path, existsSync(join(ROOT, path))]).toEqual([path, true]);
    const gets = (path: string) => taken.some((entry) => path === entry || path.startsWith(`${entry}/`));
    for (const path of [
      'deploy/docker/secrets/monitor-token',
      'runs/a',
      '.git/HEAD',
      '.cache/bin/x',
      'dist/x',
      'test/x',
    ])
      expect([path, gets(path)]).toEqual([path, false]);
    const copied = [...stages.values()].flatMap(({ instructions }) =>
      instructions.filter(({ name, text }) => name === 'COPY' && !text.startsWith('--from')),
    );
    for (const path of copied.flatMap(({ text }) => text.split(' ').slice(0, -1)))
      expect([path, path === '.' || gets(path)]).toEqual([path, true]);
  });

  it('the permission for outgoing connections of learner and environments changes nothing else', () => {
    const outside = readCompose('compose.outside.yaml');
    for (const [name, service] of Object.entries(outside.services)) {
      expect(Object.keys(compose.services)).toContain(name);
      expect(service.networks).toEqual(['outside']);
    }
    const environment = { HF_TOKEN_FILE: outside.secrets['hub-token'].file };
    expect(readServiceSettings('learner', environment).hub.token).toBeUndefined();
  });

  it('keys of others are files, none of which is needed, of those who show them', () => {
    const outside = readCompose('compose.outside.yaml');
    const known = { ...ENVIRONMENT_VARIABLES, ...GBOX, ...TINKER, ...JUDGE };
    const told = Object.entries(outside.services).map(([name, { environment = {}, secrets = [] }]) => {
      const files = Object.entries(environment).filter(([variable]) => variable.endsWith('_FILE'));
      expect(files.map(([, path]) => path)).toEqual(
        secrets.map((secret) => `/run/secrets/${secret as string}`),
      );
      for (const variable of Object.keys(environment))
        expect(known).toHaveProperty(variable.replace(/_FILE$/, ''));
      return [name, files.map(([variable]) => variable)];
    });
    expect(Object.fromEntries(told)).toEqual({
      learner: ['HF_TOKEN_FILE', 'TINKER_API_KEY_FILE'],
      sampler: ['HF_TOKEN_FILE'],
      'ui-rl': ['HF_TOKEN_FILE'],
      actor: ['JUDGE_API_KEYS_FILE'],
      env: ['GBOX_API_KEY_FILE'],
    });
    expect(outside.services.learner.environment).toHaveProperty('TINKER_BASE_URL', null);
    for (const { file } of Object.values(outside.secrets)) expect(file).toBe('/dev/null');
  });

  it('the health check passes while a service answers, and fails where none does', async () => {
    const port = await freePort();
    const check = () =>
      promisify(execFile)(process.execPath, [join(FOLDER, 'health.mjs')], {
        env: { HEALTH_PORT: String(port) },
      });
    await expect(check()).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining(`:${port}/health`) as string,
    });
    const server = await serveHealth({ host: '127.0.0.1', port }, { service: 'actor', waits: 'for NATS' });
    await expect(check()).resolves.toMatchObject({ stderr: '' });
    server.close();
  });
});
