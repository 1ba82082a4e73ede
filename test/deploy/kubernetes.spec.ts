import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { consumers, ROLES, STREAMS } from '@ui-rl/contracts';
import { ENVIRONMENT_VARIABLES } from '@ui-rl/settings';
import { parse, parseAllDocuments } from 'yaml';
import { VARIABLES as GBOX } from '../../plugins/env-gbox/src/machine';
import { ENVIRONMENT as TINKER } from '../../plugins/engine-tinker/src/options';
import { components as judges } from '../../plugins/reward-judge/src';
import { readStages } from './containerfile';

const ROOT = resolve(__dirname, '../..');
const [{ environment: JUDGE }] = judges;
const NATS = join(ROOT, 'deploy', 'nats');
const SERVICES = ['learner', 'sampler', 'evaluator', 'task-loader', 'monitor', 'actor', 'env'];

interface Container {
  name: string;
  image?: string;
  command?: string[];
  args?: string[];
  env?: {
    name: string;
    value?: string;
    valueFrom?: Record<string, { name: string; key: string; optional?: boolean }>;
  }[];
  ports?: { name: string; containerPort: number }[];
  volumeMounts?: { name: string; mountPath: string }[];
  securityContext?: Record<string, unknown>;
  resources?: { limits?: Record<string, string> };
  [probe: string]: unknown;
}

interface PodSpec {
  containers: Container[];
  securityContext?: Record<string, unknown>;
  automountServiceAccountToken?: boolean;
  volumes?: { name: string; secret?: { secretName: string }; [kind: string]: unknown }[];
}

interface Kubernetes {
  file: string;
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string> };
  $patch?: string;
  // Every kind has another form.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  spec?: any;
}

interface Kustomization {
  folder: string;
  resources?: string[];
  patches?: { path: string }[];
  configurations?: string[];
  configMapGenerator?: { name: string; files?: string[]; literals?: string[] }[];
  images?: { name: string; newName: string }[];
}

const yamlFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.yaml'))
    .map((file) => join(folder, file));

const kustomizations: Kustomization[] = yamlFiles(join(ROOT, 'deploy'))
  .filter((file) => basename(file) === 'kustomization.yaml')
  .map((file) => ({ ...(parse(readFileSync(file, 'utf8')) as Kustomization), folder: dirname(file) }));

/** Files that a folder's kustomization references in its own folder. */
function named({ folder, ...listed }: Kustomization): string[] {
  return [
    ...(listed.resources ?? []),
    ...(listed.patches ?? []).map(({ path }) => path),
    ...(listed.configurations ?? []),
    ...(listed.configMapGenerator ?? []).flatMap(({ files = [] }) => files),
  ].map((path) => join(folder, path));
}

const objects: Kubernetes[] = kustomizations
  .flatMap(({ folder, resources = [], patches = [] }) =>
    [...resources, ...patches.map(({ path }) => path)].map((path) => join(folder, path)),
  )
  .filter((path) => path.endsWith('.yaml'))
  .flatMap((file) =>
    parseAllDocuments(readFileSync(file, 'utf8')).map((document) => ({
      ...(document.toJS() as Omit<Kubernetes, 'file'>),
      file,
    })),
  );

const common = podOf(objects.find(({ metadata }) => metadata.name === 'every-service')!)!;
const settings = Object.fromEntries(
  kustomizations
    .flatMap(({ configMapGenerator = [] }) => configMapGenerator)
    .find(({ name }) => name === 'settings')!
    .literals!.map((line) => line.split('=') as [string, string]),
);
const accounts = readFileSync(join(NATS, 'accounts.conf'), 'utf8');
const users = [...accounts.matchAll(/user: "(\S+?)"/g)].map(([, name]) => name);

function podOf({ kind, spec }: Kubernetes): PodSpec | undefined {
  return (kind === 'SandboxTemplate' ? spec?.podTemplate?.spec : spec?.template?.spec) as PodSpec | undefined;
}

/** Pods before common parts are added; excludes partial patches. */
const pods = objects.flatMap((object) => {
  const pod = podOf(object);
  const isWhole = pod?.containers?.every(({ image }) => image !== undefined) ?? false;
  return pod === undefined || !isWhole ? [] : [{ object, pod }];
});
const byKind = (kind: string): Kubernetes[] =>
  objects.filter((object) => object.kind === kind && object.$patch === undefined);
const labelsOf = ({ kind, spec }: Kubernetes): Record<string, string> =>
  (kind === 'SandboxTemplate' ? spec.podTemplate : spec.template).metadata.labels as Record<string, string>;

it('every file is named by the kustomization of its folder, and every name is a file', () => {
  for (const kustomization of kustomizations) {
    const listed = named(kustomization);
    expect(listed.filter((path) => !existsSync(path))).toEqual([]);
    const there = readdirSync(kustomization.folder, { withFileTypes: true })
      .filter(
        (entry) => entry.isFile() && entry.name.endsWith('.yaml') && entry.name !== 'kustomization.yaml',
      )
      .map(({ name }) => join(kustomization.folder, name));
    expect(there.filter((path) => !listed.includes(path))).toEqual([]);
  }
});

it('each service is there, with the image of its role and the user of its role at the brokers', () => {
  for (const service of SERVICES) {
    const own = pods.filter(({ object }) => labelsOf(object)['ui-rl/service'] === service);
    expect(own.length).toBeGreaterThan(0);
    for (const { pod } of own) {
      expect(pod.containers.map(({ image }) => image)).toEqual([`ui-rl-${service}`]);
      expect(pod.volumes?.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual([`nats-${service}`]);
    }
  }
  expect(ROLES).toEqual(expect.arrayContaining(SERVICES));
});

it('every Secret of a user is of one that accounts.conf has, and the operator makes the streams', () => {
  const secrets = pods.flatMap(({ object, pod }) =>
    (pod.volumes ?? []).flatMap(({ secret }) =>
      secret === undefined ? [] : [[object.metadata.name, secret.secretName]],
    ),
  );
  for (const [, name] of secrets) expect(users).toContain(name.replace(/^nats-/, ''));
  expect(secrets).toContainEqual(['streams', 'nats-operator']);
  expect(secrets).toContainEqual(['train', 'nats-trainer']);
});

it('every image that a workload names is one that a kustomization says the place of', () => {
  const images = new Set(pods.flatMap(({ pod }) => pod.containers.map(({ image }) => image!)));
  const placed = kustomizations.flatMap(({ images: all = [] }) => all);
  for (const image of images) {
    if (image.startsWith('docker.io/')) continue;
    expect(placed.map(({ name }) => name)).toContain(image);
  }
  const targets = [...readStages(join(ROOT, 'deploy/docker/Containerfile')).keys()];
  for (const { name, newName } of placed) {
    // An overlay replaces placeholder images.
    const variant = name.startsWith('registry.example/') ? '-gpu' : '';
    expect(basename(newName)).toBe(`${basename(name)}${variant}`);
    if (newName.includes('/ui-rl-')) expect(targets).toContain(basename(newName).replace('ui-rl-', ''));
  }
  expect(placed.filter(({ name }) => name.startsWith('registry.example/'))).toHaveLength(2);
});

it('every variable is one that is read', () => {
  const ofPlugins = Object.keys({ ...GBOX, ...TINKER, ...JUDGE });
  const read = [...Object.keys(ENVIRONMENT_VARIABLES), ...ofPlugins, 'POD_NAME'];
  const given = objects.flatMap((object) => podOf(object)?.containers?.flatMap(({ env = [] }) => env) ?? []);
  expect(given.map(({ name }) => name).filter((name) => !read.includes(name))).toEqual([]);
  expect(Object.keys(settings).filter((name) => !read.includes(name))).toEqual([]);
});

describe('ports', () => {
  const portsOf = (name: string): number[] =>
    objects.flatMap((object) =>
      (podOf(object)?.containers ?? []).flatMap(({ ports = [] }) =>
        ports.filter((port) => port.name === name).map(({ containerPort }) => containerPort),
      ),
    );
  const serviceOf = (name: string) => byKind('Service').find(({ metadata }) => metadata.name === name)!.spec;
  const policyPorts = (name: string, direction: 'ingress' | 'egress'): number[] =>
    byKind('NetworkPolicy')
      .find(({ metadata }) => metadata.name === name)!
      .spec[direction].flatMap(({ ports = [] }: { ports?: { port: number }[] }) =>
        ports.map(({ port }) => port),
      );

  it('of health and metrics: services, probes, Prometheus and policies use the same', () => {
    const port = Number(settings.HEALTH_PORT);
    expect(settings.HEALTH_HOST).toBe('0.0.0.0');
    expect(new Set(portsOf('health'))).toEqual(new Set([port]));
    expect(serviceOf('metrics').ports).toEqual([expect.objectContaining({ name: 'health', port })]);
    expect(policyPorts('metrics', 'ingress')).toEqual([port]);
    const [{ spec }] = byKind('ServiceMonitor');
    expect(spec.endpoints).toEqual([expect.objectContaining({ port: 'health', path: '/metrics' })]);
    expect(spec.selector.matchLabels).toEqual(
      byKind('Service').find(({ metadata }) => metadata.name === 'metrics')!.metadata.labels,
    );
  });

  it('of the page', () => {
    const monitor = pods.find(({ object }) => object.metadata.name === 'monitor')!.pod.containers[0];
    const told = monitor.env!.find(({ name }) => name === 'MONITOR_PORT')!.value;
    expect(portsOf('page').map(String)).toEqual([told]);
    expect(serviceOf('monitor').ports[0].targetPort).toBe('page');
  });

  it('of the brokers: those of cluster.conf', () => {
    const text = readFileSync(join(NATS, 'cluster.conf'), 'utf8');
    const listens = [...text.matchAll(/listen: "0\.0\.0\.0:(\d+)"/g)].map(([, port]) => Number(port));
    const [clients, routes, leaves] = listens;
    expect(portsOf('clients')).toEqual([clients]);
    expect(portsOf('routes')).toEqual([routes]);
    expect(portsOf('leaves')).toEqual([leaves]);
    expect(policyPorts('to-brokers', 'egress')).toEqual([clients]);
    expect(policyPorts('brokers', 'ingress')).toEqual([clients, routes, ...portsOf('monitoring')]);
    // overlays/leaf opens the port for leaf nodes, which connect only through the load balancer.
    expect(policyPorts('leaves', 'ingress')).toEqual([leaves]);
    const reached = byKind('Service').filter(({ spec }) =>
      spec.ports.some(({ port }: { port: number }) => port === leaves),
    );
    expect(reached.map(({ spec }) => spec.type)).toEqual(['LoadBalancer']);
  });
});

describe('brokers', () => {
  const { pod } = pods.find(({ object }) => object.metadata.name === 'nats')!;
  const [container] = pod.containers;
  const sources = (pod.volumes!.find(({ name }) => name === 'config') as { projected?: unknown })
    .projected as {
    sources: { configMap?: { name: string }; secret?: { items: { path: string }[] } }[];
  };

  it('have the configuration of deploy/nats, and all that it includes', () => {
    const maps = kustomizations.find(({ folder }) => folder === NATS)!.configMapGenerator!;
    const files = maps.find(({ name }) => name === 'nats-config')!.files!;
    expect(files).toEqual(['cluster.conf', 'accounts.conf']);
    const secret = sources.sources.flatMap((source) => source.secret?.items.map(({ path }) => path) ?? []);
    const included = files.flatMap((file) =>
      [...readFileSync(join(NATS, file), 'utf8').matchAll(/include \.\/(\S+)/g)].map(([, name]) => name),
    );
    expect([...files, ...secret]).toEqual(expect.arrayContaining(included));
    const mount = container.volumeMounts!.find(({ name }) => name === 'config')!.mountPath;
    expect(container.args).toEqual(expect.arrayContaining(['-c', `${mount}/cluster.conf`]));
  });

  it('store where cluster.conf says', () => {
    const [, store] = /store_dir: "(\S+)"/.exec(readFileSync(join(NATS, 'cluster.conf'), 'utf8'))!;
    expect(container.volumeMounts).toContainEqual({ name: 'store', mountPath: store });
  });

  it('are as many as copies of each stream', () => {
    const { replicas } = pods.find(({ object }) => object.metadata.name === 'nats')!.object.spec;
    const streams = pods.find(({ object }) => object.metadata.name === 'streams')!.pod.containers[0];
    expect(streams.env!.find(({ name }) => name === 'NATS_REPLICAS')!.value).toBe(String(replicas));
  });
});

it('actors and env services are scaled by the consumer that actors share', () => {
  const scaled = byKind('ScaledObject').filter(({ spec }) => spec.triggers !== undefined);
  expect(scaled.map(({ spec }) => spec.scaleTargetRef.name)).toEqual(['actor', 'env']);
  for (const { spec } of scaled) {
    const [{ type, metadata }] = spec.triggers;
    expect(type).toBe('nats-jetstream');
    expect(metadata.stream).toBe(STREAMS.rollouts);
    expect(metadata.consumer).toBe(consumers.actors('RUN_ID'));
    expect(accounts).toContain(`  ${metadata.account} {`);
    expect(metadata.natsServerMonitoringEndpoint).toBe('nats.ui-rl.svc.cluster.local:8222');
    // The name resolves to all brokers; KEDA prefixes it with a broker's name to query the leader of the consumer.
    const brokers = byKind('Service').find(({ metadata: { name } }) => name === 'nats')!;
    expect(brokers.spec.clusterIP).toBe('None');
    // With none, there would be no consumer, and KEDA would count every message ever stored.
    expect(spec.minReplicaCount).toBeGreaterThan(0);
  }
});

it('where env services are a warm pool, the pool is scaled, and their Deployment and its disruption budget are removed', () => {
  const pool = byKind('SandboxWarmPool')[0];
  const scaled = byKind('ScaledObject').find(({ spec }) => spec.triggers === undefined)!;
  const { apiVersion, kind, metadata } = pool;
  expect(scaled.spec.scaleTargetRef).toEqual({ apiVersion, kind, name: metadata.name });
  const removed = objects.filter(({ file, $patch }) => file.includes('agent-sandbox') && $patch === 'delete');
  expect(removed.map((each) => `${each.kind} ${each.metadata.name}`)).toEqual(
    expect.arrayContaining(['Deployment env', 'PodDisruptionBudget env']),
  );
});

it('keys of others are optional, of one Secret, and each of them has a way to where it is shown', () => {
  const given = pods.flatMap(({ object, pod }) =>
    pod.containers.flatMap(({ env = [] }) =>
      env.flatMap(({ name, valueFrom }) => {
        const reference = valueFrom?.secretKeyRef;
        return reference?.name === 'keys' ? [{ object, variable: name, ...reference }] : [];
      }),
    ),
  );
  expect(given.filter(({ optional }) => optional !== true)).toEqual([]);
  const variables = ['GBOX_API_KEY', 'HF_TOKEN', 'JUDGE_API_KEYS', 'TINKER_API_KEY', 'TINKER_BASE_URL'];
  expect(new Set(given.map(({ variable }) => variable))).toEqual(new Set(variables));
  const selected = byKind('NetworkPolicy').flatMap(({ metadata, spec }) =>
    (spec.egress ?? []).some(({ to = [{ ipBlock: {} }] }: { to?: object[] }) =>
      to.some((each) => 'ipBlock' in each),
    )
      ? [{ name: metadata.name, selector: JSON.stringify(spec.podSelector ?? null) }]
      : [],
  );
  for (const { object } of given) {
    const labels = Object.values(labelsOf(object));
    const ways = selected.filter(({ selector }) => labels.some((label) => selector.includes(`"${label}"`)));
    expect([object.metadata.name, ways.length > 0]).toEqual([object.metadata.name, true]);
  }
  const [learner, train] = ['learner', 'train'].map((name) =>
    given.filter(({ object }) => object.metadata.name === name).map(({ variable }) => variable),
  );
  expect(learner).toEqual(['HF_TOKEN', 'TINKER_BASE_URL', 'TINKER_API_KEY']);
  expect(train).toEqual(['HF_TOKEN']);
});

it('the answers that probes ask for are those of services', () => {
  const text = readFileSync(join(ROOT, 'libs', 'service', 'src', 'health.ts'), 'utf8');
  for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
    const { path } = (common.containers[0][probe] as { httpGet: { path: string } }).httpGet;
    expect(text).toContain(`path === '${path}'`);
  }
});

describe('restricted, as the namespace demands', () => {
  const RESTRICTED = { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } };
  const whole = pods.map(({ object, pod }): [string, PodSpec, Container[]] => {
    const isService = object.metadata.labels?.['ui-rl/service'] !== undefined;
    const base = isService ? common : pod;
    const containers = isService
      ? pod.containers.map((own) => ({ ...common.containers[0], ...own }))
      : pod.containers;
    return [`${object.kind} ${object.metadata.name}`, base, containers];
  });

  it.each(whole)('%s', (_, pod, containers) => {
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(pod.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
    for (const { securityContext, resources } of containers) {
      expect(securityContext).toMatchObject(RESTRICTED);
      expect(resources?.limits?.memory).toMatch(/^\d+Gi$/);
    }
  });

  it('the namespace does', () => {
    const [{ metadata }] = byKind('Namespace');
    expect(metadata.labels?.['pod-security.kubernetes.io/enforce']).toBe('restricted');
  });
});

it('no pod reaches another one except by a policy', () => {
  const { spec } = byKind('NetworkPolicy').find(({ metadata }) => metadata.name === 'nothing')!;
  expect(spec).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
});
