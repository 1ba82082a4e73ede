export const SERVICES = [
  'monitor',
  'learner',
  'env',
  'actor',
  'task-loader',
  'evaluator',
  'sampler',
] as const;

export type ServiceName = (typeof SERVICES)[number];

/** How many processes of a service, which share the episodes, the sessions or the samples of a run. */
export type Copies = Partial<Record<'actor' | 'env' | 'sampler', number>>;

/** Where nothing else is said: learners sample by themselves. */
const USUAL: Required<Copies> = { actor: 1, env: 1, sampler: 0 };

type Environment = Record<string, string | undefined>;

/** A process of a fleet. */
export interface Member {
  /** `actor`, or `actor-1`, `actor-2` … where there are several. */
  name: string;
  service: ServiceName;
  env: Environment;
}

/** Where such a service listens for outsiders, if it is told to: the second of its processes takes the port above, and so on. */
const OWN_PORT: Readonly<Partial<Record<ServiceName, string>>> = {
  actor: 'AGENTS_PORT',
  env: 'ENVIRONMENTS_PORT',
};

/** The processes of a service. */
export function membersOf(service: ServiceName, copies: Copies, env: Environment): Member[] {
  const count = isCopied(service) ? (copies[service] ?? USUAL[service]) : 1;
  return Array.from({ length: count }, (_, index) => ({
    name: count === 1 ? service : `${service}-${index + 1}`,
    service,
    env: { ...env, ...ownPort(service, index, env) },
  }));
}

function isCopied(service: ServiceName): service is keyof Copies {
  return Object.hasOwn(USUAL, service);
}

function ownPort(service: ServiceName, index: number, env: Environment): Environment {
  const variable = OWN_PORT[service];
  if (variable === undefined) return {};
  const first = Number(env[variable] ?? 0);
  return first > 0 && index > 0 ? { [variable]: String(first + index) } : {};
}
