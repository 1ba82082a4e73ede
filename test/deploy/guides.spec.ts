import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ROLES } from '@ui-rl/contracts';
import { parseAllDocuments } from 'yaml';
import { readStages } from './containerfile';

const ROOT = resolve(__dirname, '../..');
const KUBERNETES = join(ROOT, 'deploy/kubernetes');
const guide = (name: string): string => readFileSync(join(ROOT, 'docs/guides', `${name}.md`), 'utf8');
const kubernetes = guide('kubernetes');
const gcp = guide('gcp');

interface Manifest {
  kind: string;
  metadata: { name: string };
  // Every kind has another form.
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  spec?: any;
}

const manifests: Manifest[] = readdirSync(KUBERNETES, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.yaml'))
  .flatMap((file) => parseAllDocuments(readFileSync(join(KUBERNETES, file), 'utf8')))
  .map((document) => document.toJS() as Manifest | null)
  .filter((manifest) => manifest !== null);

/** The list of a guide's loop: `for user in a b; do`. */
function listOf(text: string, variable: string): string[] {
  return new RegExp(`^for ${variable} in (.*?); do`, 'm').exec(text)![1].split(' ');
}

/** Lines of the guide's commands, in order. */
function commandsOf(text: string): string[] {
  return [...text.matchAll(/^```sh\n([\s\S]*?)^```/gm)].flatMap(([, block]) => block.trimEnd().split('\n'));
}

function indexOf(lines: readonly string[], part: string): number {
  const index = lines.findIndex((line) => line.includes(part));
  expect([part, index]).not.toEqual([part, -1]);
  return index;
}

it('users of the brokers that pods are get their Secrets', () => {
  const mounted = manifests.flatMap(({ spec }) => {
    const pod = spec?.template?.spec ?? spec?.podTemplate?.spec;
    return ((pod?.volumes ?? []) as { secret?: { secretName: string } }[]).flatMap(
      ({ secret }) => /^nats-(?!leaf$)(.*)$/.exec(secret?.secretName ?? '')?.[1] ?? [],
    );
  });
  expect(new Set(listOf(kubernetes, 'user'))).toEqual(new Set(mounted));
  expect([...ROLES, 'operator']).toEqual(expect.arrayContaining(mounted));
});

it('images of all that is applied are built, and all of them are targets', () => {
  const targets = [...readStages(join(ROOT, 'deploy/docker/Containerfile')).keys()];
  const built = listOf(gcp, 'role');
  for (const role of built) expect(targets).toContain(role);
  const used = readdirSync(KUBERNETES, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('kustomization.yaml'))
    .map((file) => readFileSync(join(KUBERNETES, file), 'utf8'))
    .flatMap((text) =>
      [...text.matchAll(/newName: registry\.example\/ui-rl-([\w-]+)/g)].map(([, role]) => role),
    );
  expect(new Set(built)).toEqual(new Set(used));
});

it.each([
  ['kubernetes.md', kubernetes],
  ['gcp.md', gcp],
])('%s installs the operators whose schemas are checked, and waits for them', (_, text) => {
  const { definitions } = JSON.parse(readFileSync(join(KUBERNETES, 'schemas.json'), 'utf8')) as {
    definitions: string[];
  };
  const checked = definitions.map((url) => /githubusercontent\.com\/([^/]+\/[^/]+)\/(v[\d.]+)\//.exec(url)!);
  const installed = [...text.matchAll(/github\.com\/([^/]+\/[^/]+)\/releases\/download\/(v[\d.]+)\//g)];
  const versions = Object.fromEntries(checked.map(([, repository, version]) => [repository, version]));
  expect(installed.length).toBeGreaterThanOrEqual(3);
  for (const [, repository, version] of installed)
    expect([repository, version]).toEqual([repository, versions[repository]]);
  const needed = Object.keys(versions).filter((name) => !name.includes('agent-sandbox'));
  expect(installed.map(([, repository]) => repository)).toEqual(expect.arrayContaining(needed));
  const lines = commandsOf(text);
  const waits = indexOf(lines, 'cnpg-system rollout status deployment/cnpg-controller-manager');
  expect(waits).toBeGreaterThan(indexOf(lines, 'prometheus-operator/releases'));
  expect(waits).toBeLessThan(indexOf(lines, 'kubectl kustomize'));
});

it('keys are there before the services that read them at their start, and each is explained', () => {
  const lines = commandsOf(kubernetes);
  const keys = indexOf(lines, 'create secret generic keys');
  expect(keys).toBeGreaterThan(indexOf(lines, 'kubectl create namespace ui-rl'));
  expect(keys).toBeLessThan(indexOf(lines, 'kubectl kustomize deploy/kubernetes/base'));
  expect(gcp).not.toContain('create secret generic keys');
  const [, table] = /^## Keys$([\s\S]*?)^## /m.exec(kubernetes)!;
  const explained = [...table.matchAll(/^\| (`[^|]*) \|/gm)].flatMap(([, cell]) =>
    [...cell.matchAll(/`([\w-]+)`/g)].map(([, key]) => key),
  );
  const read = manifests.flatMap(({ spec }) =>
    [...JSON.stringify(spec ?? {}).matchAll(/"name":"keys","key":"([\w-]+)"/g)].map(([, key]) => key),
  );
  expect(new Set(explained.filter((key) => key !== 'keys'))).toEqual(new Set(read));
});

describe('node pools', () => {
  const pools = commandsOf(gcp).filter((line) =>
    /^gcloud container (clusters|node-pools) create /.test(line),
  );
  const poolOf = (name: string) => pools.find((line) => line.includes(`node-pools create ${name} `))!;

  it('have the account that may pull images', () => {
    expect(pools).toHaveLength(5);
    for (const line of pools) expect(line).toContain('--service-account="$NODES"');
    const lines = commandsOf(gcp);
    const roles = lines
      .filter((line) => line.includes('--role='))
      .map((line) => /--role=(\S+)/.exec(line)![1]);
    expect(roles).toEqual(['roles/container.defaultNodeServiceAccount', 'roles/artifactregistry.reader']);
    expect(indexOf(lines, 'service-accounts delete')).toBeGreaterThan(
      indexOf(lines, 'service-accounts create'),
    );
  });

  it('that may be taken away let in actors and env services alone', () => {
    const [, taint, effect] = /--node-taints=([^=]+)=\w+:(\w+)/.exec(poolOf('workers'))!;
    const tolerant = manifests.filter(({ spec }) => {
      const pod = spec?.template?.spec ?? spec?.podTemplate?.spec;
      const all = (pod?.tolerations ?? []) as { key: string; effect: string; operator: string }[];
      return all.some((each) => each.key === taint && each.effect === effect && each.operator === 'Exists');
    });
    expect(tolerant.map(({ kind, metadata }) => `${kind} ${metadata.name}`).toSorted()).toEqual([
      'Deployment actor',
      'Deployment env',
      'SandboxTemplate env',
    ]);
  });

  it('have room for what the learner asks for', () => {
    const asked = (patch: (manifest: Manifest) => boolean) =>
      manifests.find(
        (each) => each.metadata?.name === 'learner' && each.kind === 'StatefulSet' && patch(each),
      )!.spec.template.spec.containers[0].resources.requests as { cpu: string; memory: string };
    const isBase = ({ spec }: Manifest) => spec.serviceName !== undefined;
    for (const [pool, { cpu, memory }] of [
      ['learner', asked(isBase)],
      ['gpu', asked((each) => !isBase(each))],
    ] as const) {
      // e2-standard-N and g2-standard-N have N cores and 4 N GiB, of which the system reserves a part.
      const cores = Number(/-standard-(\d+)/.exec(poolOf(pool))![1]);
      expect(Number(cpu)).toBeLessThan(cores);
      expect(Number.parseInt(memory, 10)).toBeLessThan(cores * 4 * 0.85);
    }
  });
});

it("a single machine's broker stores where its configuration says, and may write there", () => {
  const configuration = readFileSync(join(ROOT, 'deploy/nats/nats.conf'), 'utf8');
  const [, store] = /store_dir: "(\S+)"/.exec(configuration)!;
  const startup = readFileSync(join(ROOT, 'deploy/gcp/vm/startup.sh'), 'utf8');
  // nats-server does not start if the command line specifies a store in addition to the configuration.
  expect(/nats-server -c .*/.exec(startup)![0]).not.toMatch(/ --?(sd|store_dir)\b/);
  expect(/^ *state=nats$/m.exec(startup)).not.toBeNull();
  expect(store).toBe('/var/lib/nats');
  expect(startup).toContain('StateDirectory=$state');
});

describe('the startup script of a single machine', () => {
  const script = readFileSync(join(ROOT, 'deploy/gcp/vm/startup.sh'), 'utf8');

  it('installs the commit of its metadata and nothing else', () => {
    expect(script).toMatch(/git fetch --depth 1 "\$source" "\$commit"/);
    expect(script).not.toMatch(/git clone/);
  });

  it.each(['', 'main', 'v1.0', 'abc', '; rm -rf /'])('refuses the commit %p', (commit) => {
    const attribute = `attribute() { case "$1" in ui-rl-commit) printf %s '${commit}' ;; *) echo x ;; esac; }`;
    // The part before the installation.
    const [checks] = script.replace(/attribute\(\) \{[^]*?\n\}/, attribute).split('\nif [ ! -e');
    const { status, stderr } = spawnSync('bash', ['-c', checks], { encoding: 'utf8' });
    expect({ status, stderr }).toEqual({
      status: 1,
      stderr: expect.stringContaining(
        `metadata ui-rl-commit is "${commit}", expected the 40 hex digits`,
      ) as string,
    });
  });

  it('runs each service as its own user, which cannot change the project', () => {
    expect(script).toMatch(/^User=\$user$/m);
    expect(script).toMatch(/user=ui-rl-\$service/);
    expect(script).toMatch(/chown -R root: \/opt\/ui-rl\n *touch \.installed/);
  });
});
