/** The treatment of a command in the docs: it runs as written, or `notRun` says why not. */
export type Rule = { matches: RegExp } & (Run | { notRun: string });

export interface Run {
  /** Flags that make it small, or let it run concurrently with others. */
  append?: string;
  /** It needs a separate runs folder, since another command that keeps running would block it. */
  apart?: boolean;
  /** It keeps running after printing this, until Ctrl-C. */
  staysAfter?: RegExp;
  /** It continues after printing this, and must then succeed. */
  goesOnAfter?: RegExp;
  /** Required output. */
  prints?: RegExp;
  /** Required state; by default only the results of earlier lines on its page. */
  needs?: 'an open run' | 'a trained run';
  /** Placeholders in the docs for values that this command prints. */
  tells?: Readonly<Record<string, RegExp>>;
}

const SMALL_RUN = [
  `--tasks '{"source_type":"demo_training","limit":2}' --eval_tasks '[]'`,
  '--rollout.group_size 2 --rollout.max_turns 2',
  '--training.groups_per_batch 1 --training.num_substeps 1 --training.max_steps 1 --training.save_every 1',
  '--evaluation.episodes_per_task 1',
].join(' ');

/** The first matching rule applies; a command without one is a failure. */
export const RULES: readonly Rule[] = [
  { matches: /^npm run setup/, notRun: 'prepares the machine; npm test begins with it' },
  {
    matches: /^npm run build$/,
    notRun: 'the set-up has built; again, it would rewrite what other tests run',
  },
  {
    matches: /^(npm test|npm run (check|test:all)|npx jest .*)$/,
    notRun: 'runs this test, or is run beside it',
  },
  {
    matches:
      /^(npm run pack|npm install --ignore-scripts \/path\/to\/ui-rl.*|npx ui-rl setup|npx ui-rl quickstart)$/,
    notRun:
      'packs, fetches, or takes 13 minutes; deploy/package.spec.ts packs, and trains outside of the clone',
  },
  { matches: /^npm run quickstart/, notRun: 'takes 13 minutes; the first run on a page of yours is run' },
  { matches: /^ONNXRUNTIME_NODE_INSTALL=cuda12 /, notRun: 'fetches libraries for a CUDA GPU' },
  {
    matches: /^npm install \/path\/to\//,
    notRun: 'is for a project of yours; the scripts of the guides run in one',
  },
  { matches: /^npx ui-rl setup --miniwob$/, prints: /^miniwob +\/\S+$/m },
  { matches: /^npm run bench:miniwob /, notRun: 'measures for minutes; its pages.spec.ts plays some pages' },
  {
    matches: /^npm run gpu -- out$/,
    notRun: 'measures a GPU for minutes; what a bundle does is tried in test/gpu/gpu.spec.ts',
  },
  {
    matches: /^npm run gpu:bundle$/,
    notRun: 'fetches packages, and packs for minutes; test/gpu/gpu.spec.ts builds what it packs',
  },
  { matches: /^npx ui-rl bench /, notRun: 'measures for minutes' },
  { matches: /^npx ui-rl models random --like Qwen\/Qwen2-VL-2B/, notRun: 'writes 4.4 GB' },
  {
    matches: /^DESKTOP_APPLICATIONS=applications\.yaml npx ui-rl (doctor|quickstart) /,
    notRun: 'starts a model for a program it cannot operate; the specs of env-desktop open such programs',
  },
  { matches: /^npx ui-rl quickstart --config (?!my-run)/, notRun: 'takes minutes; the first run is run' },
  {
    matches: /^npx ui-rl generate --checkpoint "uirl:/,
    notRun: 'needs a run of two machines; e2e/places has one',
  },
  {
    matches: /^npx ui-rl eval .*"http:/,
    notRun: 'needs its endpoint; scripts.spec.ts evaluates the one of the guide',
  },
  {
    matches: /^npx ui-rl eval /,
    append: '--episodes 1 --rollout.max_turns 1 --no-records',
    prints: /^all \(95 % interval\)/m,
  },
  {
    matches: /^npx ui-rl try .*--by-hand$/,
    notRun: 'needs a person; the spec of it in api drives a browser as one would',
  },
  { matches: /^npx ui-rl try /, append: '--turns 2', prints: /^[12] turns?, /m },
  { matches: /^node clicker\.js &$/, notRun: 'is for the evaluation below it' },
  { matches: /^node world-server\.js &$/, notRun: 'is for the run below it' },
  {
    matches: /^(node deploy\/nats\/|nats-server -c \/etc\/|NATS_CONTEXT=)/,
    notRun: 'is for a broker with users; e2e/stranger has a run under them',
  },
  {
    matches: /^NATS_REPLICAS=/,
    notRun: 'needs three brokers; the spec of clusters in bus makes three copies of each stream',
  },
  {
    matches: /^(gcloud|kubectl|for user in|for role in) /,
    notRun: 'needs a cluster or a cloud; npm run manifests checks what is applied',
  },
  {
    matches: /^export (COMMIT|NODES|PROJECT|REGISTRY|RUN|SOURCE)=/,
    notRun: 'is for the lines below it, which need a cluster or a cloud',
  },
  { matches: /^npm run manifests$/, notRun: 'fetches schemas, and needs kubectl' },
  {
    matches: /^node dist\/services\//,
    notRun: 'is for two machines; the tests of e2e/ start all services so',
  },
  {
    matches: /^curl /,
    notRun: 'the curl command is not part of the set-up; the specs of the monitor ask the same',
  },
  {
    matches: /^adb /,
    notRun: 'needs a device; the specs of env-android run the real adb against their own device',
  },
  {
    matches:
      /^(docker compose|podman|podman-compose|debootstrap|tar -C \/tmp\/base) |^(cp|ln) .*\/tmp\/base|^export (UIRL_BASE|ENV_SECCOMP)=/,
    notRun: 'needs a container engine; deploy/containers.spec.ts reads what it is given',
  },
  {
    matches: /^node deploy\/docker\/secrets\.mjs$/,
    notRun: 'makes passwords in this folder; deploy/containers.spec.ts makes some elsewhere',
  },
  { matches: /^nats (pub|kv|stream|consumer) /, notRun: 'the nats command is not part of the set-up' },

  {
    matches: /^nats-server .* --user lab /,
    append: '-p $FREE_PORT',
    staysAfter: /Server is ready/,
    tells: { 'A:4222': /client connections on (\S+)/ },
  },
  { matches: /^nats-server /, append: '-p $FREE_PORT', staysAfter: /Server is ready/ },
  { matches: /^npx ui-rl up$/, staysAfter: /NATS_CONTEXT=\S+/ },
  { matches: /^npx ui-rl up --samplers 2$/, apart: true, staysAfter: /NATS_CONTEXT=\S+/ },
  {
    matches: /^npx ui-rl episodes (export|import|play|rescore) /,
    notRun:
      'needs a run with successes, or an endpoint; specs of api export, import, play and score episodes',
  },
  { matches: /^npx ui-rl train .* --detach$/, prints: /^run \S+/m },
  {
    matches: /^npx ui-rl train .* --model.name Qwen/,
    append: `--detach ${SMALL_RUN}`,
    needs: 'a trained run',
    prints: /^run \S+/m,
  },
  {
    matches: /^npx ui-rl train /,
    append: SMALL_RUN,
    goesOnAfter: /^run \S+/m,
    prints: /Training goals/,
    tells: { '<run>': /^run (\S+)/m },
  },
  {
    matches: /^npx ui-rl quickstart /,
    append: SMALL_RUN.replace(/--tasks '.*?' /, ''),
    staysAfter: /The monitor stays up/,
    prints: /Count to 2/,
  },
  { matches: /^npx ui-rl tasks publish /, needs: 'an open run', prints: /^published to run \S+/m },
  { matches: /^npx ui-rl tasks list .*--json$/, prints: /"description": "/ },
  { matches: /^npx ui-rl tasks list --source miniwob$/, prints: /MiniWoB\+\+ click-test/ },
  {
    matches: /^npx ui-rl tasks list --source generated_pages$/,
    prints: /A task of the kind "click" on a generated page/,
  },
  { matches: /^npx ui-rl tasks list /, prints: /Open the page "cart"/ },
  { matches: /^npx ui-rl runs list$/, needs: 'an open run', prints: /^\S+ +(baseline|training) /m },
  { matches: /^npx ui-rl runs profile /, needs: 'a trained run', prints: /^trained episodes +\d/m },
  { matches: /^npx ui-rl runs delete /, prints: /there is none/ },
  { matches: /^npx ui-rl monitor$/, needs: 'a trained run', staysAfter: /Ctrl-C ends it/ },
  {
    matches: /^npx ui-rl serve tinker /,
    append: '--port 0 --dir tinker',
    staysAfter: /Tinker's API at http:\S+/,
  },
  { matches: /^npx ui-rl plugins / },
  {
    matches: /^npx ui-rl doctor --model /,
    notRun:
      'loads a large model, or ends with 1, since the small one was never shown targets; specs of api click them',
  },
  { matches: /^npx ui-rl doctor/, prints: /browser opened/ },
  { matches: /^npx ui-rl models$/, prints: /qwen3-vl/ },
  { matches: /^npx ui-rl models \S+\/\S+ /, prints: /parameters/ },
  { matches: /^npx ui-rl score /, needs: 'a trained run' },
  // A software driver is slow.
  { matches: /^npx ui-rl generate .* --device webgpu$/, append: '--max-tokens 1', prints: /\S/ },
  { matches: /^npx ui-rl generate /, prints: /\S/ },
  { matches: /^npx ui-rl export /, needs: 'a trained run', prints: /written to/ },
  { matches: /^npx ui-rl db status$/, prints: /pending \S+/ },
  { matches: /^npx ui-rl db migrate$/, prints: /: ran \S+/ },
  { matches: /^npx ui-rl db rebuild --yes$/, prints: /is empty and up to date/ },
  { matches: /^npx ui-rl db generate /, prints: /nothing to write/ },
  { matches: /^node predict\.js /, prints: /"action"/ },
];

export function ruleOf(line: string): Rule | undefined {
  return RULES.find(({ matches }) => matches.test(line));
}
