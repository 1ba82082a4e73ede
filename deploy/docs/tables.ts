import { METRICS } from '@ui-rl/contracts';
import { ENDPOINT_METRICS } from '@ui-rl/openai-api';
import { DEADLINES, RETRIES, type RetryPolicy } from '@ui-rl/retry';
import { ENVIRONMENT_VARIABLES } from '@ui-rl/settings';
import { code, page, table, type Page } from './markdown';

export function environmentPage(): Page {
  const rows = Object.entries(ENVIRONMENT_VARIABLES).map(([name, help]) => [code(name), help]);
  return page('environment.md', 'Environment variables', '`libs/settings`', [
    'These variables configure a service; everything else is in the run file. Defaults are in brackets. A misspelt `UIRL_` variable ends the start with an error. Secrets (`DATABASE_URL`, names that end with `_PASSWORD`, `_TOKEN`, `_API_KEY` or `_KEYS`, those of components, too) may be in a file that `<name>_FILE` names instead. Services listen on loopback only, unless `MONITOR_HOST`, `POLICY_HOST`, `AGENTS_HOST`, `ENVIRONMENTS_HOST` or `HEALTH_HOST` is set. The first then requires `MONITOR_TOKEN`, the next three a key; `/health`, `/ready` and `/metrics` require none.',
    table(['variable', 'meaning'], rows),
  ]);
}

export function metricsPage(): Page {
  const rows = METRICS.map(({ name, unit, meaning }) => [code(name), unit, meaning]);
  const endpoint = Object.values(ENDPOINT_METRICS).map(({ name, labels, meaning }) => [
    code(name),
    labels.map(code).join(', '),
    meaning,
  ]);
  return page(
    'metrics.md',
    'Metrics',
    '`libs/contracts/src/metrics.ts` and `libs/openai-api/src/http/measures.ts`',
    [
      "The metrics of a `train_step` event, as in the monitor, in `metrics.jsonl` of the run's folder, and in trackers. `<…>` stands for a name.",
      table(['metric', 'unit', 'meaning'], rows),
      '## Endpoints',
      "Prometheus metrics at `/metrics` of a learner whose [policy answers OpenAI's API](../guides/endpoint.md), and of an actor with [outside agents](../guides/agents.md). Names follow OpenTelemetry's semantic conventions for generative AI, or else those of vLLM, with the prefix `uirl_endpoint_`. `gen_ai_request_model` is `latest`, `checkpoint`, the name of the base model, or `other`; `api_key` is the position of the key among the accepted ones, or `none`; `error_type` is the `code` of the error. The service's other metrics: [measuring a fleet](../operations/measuring.md).",
      table(['metric', 'labels', 'meaning'], endpoint),
    ],
  );
}

export function retriesPage(): Page {
  const policies = Object.values(RETRIES).map((policy: RetryPolicy) => [
    policy.what,
    policy.firstMs === policy.maxMs ? `${policy.firstMs}` : `${policy.firstMs} … ${policy.maxMs}`,
    limitOf(policy),
    policy.then,
  ]);
  const deadlines = Object.values(DEADLINES).map(({ what, ms, then }) => [what, String(ms), then]);
  return page('retries.md', 'Retries and deadlines', '`libs/retry/src/retries.ts` and `deadlines.ts`', [
    'Everything else fails at once. Pauses double from the first to the longest. A run file sets these deadlines itself: `rollout.*_timeout_ms`, `environment.deadline_ms`, `environment.lease_ms`.',
    '## Retries',
    table(['operation', 'pause, ms', 'attempts', 'until, and then'], policies),
    '## Deadlines',
    table(['waits for', 'ms', 'then'], deadlines),
  ]);
}

function limitOf({ attempts, withinMs }: RetryPolicy): string {
  const limits = [
    ...(attempts === undefined ? [] : [String(attempts)]),
    ...(withinMs === undefined ? [] : [`within ${withinMs / 1000} s`]),
  ];
  return limits.length === 0 ? '–' : limits.join(', ');
}
