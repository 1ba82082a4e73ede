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

/** Number of processes per service; they share the episodes, sessions or samples of a run. */
export type Copies = Partial<Record<'actor' | 'env' | 'sampler', number>>;

/** Default: learners sample themselves. */
const USUAL: Required<Copies> = { actor: 1, env: 1, sampler: 0 };

type Environment = Record<string, string | undefined>;

/** A process of a fleet. */
export interface Member {
  /** `actor`, or `actor-1`, `actor-2` … if there are several. */
  name: string;
  service: ServiceName;
  env: Environment;
}

/**
 * Prefix of the port variable of services that accept outside connections. The second process of a service takes the
 * next port, and so on.
 */
const OWN_PORT: Readonly<Partial<Record<ServiceName, 'AGENTS' | 'ENVIRONMENTS' | 'POLICY'>>> = {
  actor: 'AGENTS',
  env: 'ENVIRONMENTS',
  learner: 'POLICY',
};

/**
 * The processes of a fleet. Each has its own health port: the first takes HEALTH_PORT, the next one takes the port
 * above, and so on.
 */
export function fleetMembers(services: readonly ServiceName[], copies: Copies, env: Environment): Member[] {
  const members = services.flatMap((service) => membersOf(service, copies, env));
  const first = Number(env.HEALTH_PORT ?? 0);
  if (!(first > 0)) return members;
  return members.map((member, index) => ({
    ...member,
    env: { ...member.env, HEALTH_PORT: String(first + index) },
  }));
}

/** A port that a process of a fleet is configured to listen on. */
export interface MemberPort {
  member: string;
  variable: string;
  host: string;
  port: number;
}

/** The configured ports that have to be free; excludes port 0, which takes any. */
export function portsOf({ name, service, env }: Member): MemberPort[] {
  const own = OWN_PORT[service];
  return (own === undefined ? ['HEALTH'] : ['HEALTH', own])
    .map((prefix) => ({
      member: name,
      variable: `${prefix}_PORT`,
      host: env[`${prefix}_HOST`]?.trim() || '127.0.0.1',
      port: Number(env[`${prefix}_PORT`] ?? 0),
    }))
    .filter(({ port }) => port > 0);
}

function membersOf(service: ServiceName, copies: Copies, env: Environment): Member[] {
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
  const prefix = OWN_PORT[service];
  if (prefix === undefined) return {};
  const variable = `${prefix}_PORT`;
  const first = Number(env[variable] ?? 0);
  return first > 0 && index > 0 ? { [variable]: String(first + index) } : {};
}
