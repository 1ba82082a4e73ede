/** All environment variables, with their descriptions. `UIRL_` is this project's own prefix. */
export const ENVIRONMENT_VARIABLES: Readonly<Record<string, string>> = {
  NATS_URL:
    'broker, nats://host:port or tls://host:port, several separated by commas (nats://127.0.0.1:4222)',
  NATS_CONTEXT:
    'path of a context file of the nats command (JSON: url, user, password, token, creds …); the other NATS_ variables take precedence (the file that ui-rl up writes to <runs>/local/nats, while it runs)',
  NATS_CREDS: 'path of a .creds file',
  NATS_USER: 'user, together with NATS_PASSWORD',
  NATS_PASSWORD: 'password',
  NATS_TOKEN: 'token',
  NATS_TLS_CA: 'path of the certificate authority (PEM)',
  NATS_TLS_CERT: 'path of the client certificate (PEM), together with NATS_TLS_KEY',
  NATS_TLS_KEY: 'path of the client key (PEM)',
  NATS_TLS_VERIFY: 'false accepts any server certificate (true)',
  NATS_REPLICAS:
    'number of servers of a cluster that keep each stream and bucket, 1 to 5; existing ones change, too (new ones 1, existing ones as they are)',
  BLOBS:
    's3://bucket/prefix, storage of screenshots, large messages, checkpoints and shared files; the same for every service and command (at the broker)',
  AWS_ENDPOINT_URL_S3:
    'address of a service other than AWS that speaks the protocol of S3, https://host:port; AWS_ENDPOINT_URL does, too',
  AWS_ENDPOINT_URL: 'the same; other programs read this one',
  AWS_REGION: "region of the bucket (what AWS's own configuration says; us-east-1 elsewhere)",
  AWS_ACCESS_KEY_ID:
    "access key, together with AWS_SECRET_ACCESS_KEY (what AWS's own client finds: a profile, a web identity, the role of the machine)",
  AWS_SECRET_ACCESS_KEY: 'its secret',
  AWS_SESSION_TOKEN: 'of temporary credentials',
  NATS_SERVER_BIN: 'nats-server to start where no broker is named',
  DATABASE_URL:
    'postgresql://user:password@host:port/database; without it the monitor brings its own database',
  POSTGRES_HOST: 'instead of DATABASE_URL, together with the other POSTGRES_ variables',
  POSTGRES_PORT: 'port (5432)',
  POSTGRES_DB: 'database (postgres)',
  POSTGRES_USER: 'user (postgres)',
  POSTGRES_PASSWORD: 'password',
  MONITOR_HOST: 'address the page listens on (127.0.0.1)',
  MONITOR_PORT: 'port of the page (8080); 0 takes a free one',
  MONITOR_URL: 'public address of the page, for example behind a proxy',
  MONITOR_TOKEN:
    'token for readers on other machines, at least 16 characters (generated, stored in <runs>/monitor-token)',
  POLICY_PORT:
    "port of OpenAI's API over the policy, at the learner (none); 0 takes a free one, which the log names",
  POLICY_HOST: 'address of that port (127.0.0.1)',
  POLICY_API_KEYS:
    'API keys of callers, separated by commas, at least 16 characters each (none on this machine; beyond it one is generated, kept in <runs>/policy-key)',
  POLICY_MAX_REQUESTS: 'maximum number of concurrent requests, and of open WebSockets (64)',
  POLICY_MAX_BODY_MB: 'maximum size of a request, images included, in MiB (32)',
  AGENTS_PORT:
    'port for outside agents at an actor (none), for runs with rollout.played_by agents; 0 takes a free one, which the log names',
  AGENTS_HOST: 'address of that port (127.0.0.1)',
  AGENTS_API_KEYS:
    'API keys of agents, separated by commas, at least 16 characters each (none on this machine; beyond it one is generated, kept in <runs>/agents-key)',
  AGENTS_MAX_REQUESTS: 'maximum number of concurrent requests of agents, and of their open WebSockets (64)',
  AGENTS_MAX_BODY_MB: 'maximum size of a request of an agent, images included, in MiB (32)',
  ENVIRONMENTS_PORT:
    'port of the environments that an env service serves, as OpenEnv and ui-verifiers do (none); 0 takes a free one, which the log names',
  ENVIRONMENTS_HOST: 'address of that port (127.0.0.1)',
  ENVIRONMENTS_API_KEYS:
    'API keys of callers, separated by commas, at least 16 characters each (none on this machine; beyond it one is generated, kept in <runs>/environments-key)',
  ENVIRONMENTS_RUN_FILE:
    'run file whose environment, tasks, verifier and rewards are served (the demo tasks)',
  ENVIRONMENTS_MODE: "simulation, or production: without OpenEnv's /reset, /step and /state (simulation)",
  ENVIRONMENTS_MAX_REQUESTS: 'maximum number of concurrent requests (64)',
  ENVIRONMENTS_MAX_BODY_MB: 'maximum size of a request or message, in MiB (32)',
  HEALTH_PORT:
    'port where any service answers GET /health, /ready and /metrics (none); 0 takes a free one; of services that one command starts, the first takes this one, the next the port above',
  HEALTH_HOST: 'address of that port (127.0.0.1)',
  OTEL_EXPORTER_OTLP_ENDPOINT:
    'OpenTelemetry collector that any service sends its traces to, http://host:4318 (none); OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER and OTEL_BSP_… are read as its own library says',
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'the whole address for traces, instead of <endpoint>/v1/traces',
  CHROMIUM_BIN: 'Chromium or Chrome to use',
  HF_TOKEN: "token for the model hub (what 'hf auth login' left); sent to the hub's own host only",
  HF_TOKEN_PATH: 'file with the token (<HF_HOME>/token)',
  HF_HOME: 'folder of token and cache (~/.cache/huggingface)',
  XDG_CACHE_HOME: 'folder of caches (~/.cache), where HF_HOME or UIRL_CACHE_DIR are not set',
  XDG_DATA_HOME: "folder of the user's data (~/.local/share), where UIRL_RUNS_DIR is not set",
  HF_HUB_CACHE: "folder of models fetched from the hub, shared with Python's huggingface_hub (<HF_HOME>/hub)",
  HF_HUB_OFFLINE: '1 takes models from the cache only',
  HF_ENDPOINT: 'address of the model hub (https://huggingface.co)',
  UIRL_MODELS: 'models by name, separated by commas: name=folder; "small" is the shipped model',
  UIRL_RUNS_DIR:
    'folder of all runs: checkpoints, records, screenshots (<XDG_DATA_HOME>/ui-rl/runs, ~/.local/share/ui-rl/runs)',
  UIRL_ADAPTERS_DIR: 'folder of adapters for sampling servers, which need access to it (<runs>/.adapters)',
  UIRL_SAMPLER_KEYS:
    'keys of such servers, http://host:port=key, several separated by commas; each is sent to its own server only',
  UIRL_ENDPOINT_KEYS:
    "keys of endpoints of OpenAI's API that ui-rl eval asks, https://host=key, several separated by commas; each is sent to its own host only",
  TINKER_SERVER_KEYS:
    "API keys for clients of ui-rl serve tinker, separated by commas, at least 16 characters each (none on this machine; needed beyond it); Tinker's official client sends those that begin with tml-",
  UIRL_RUN: 'the only run that this process serves; default: any run',
  UIRL_PGLITE_DIR:
    "folder of the monitor's own database (<runs>/monitor-db); its screenshots are in <folder>-screenshots",
  UIRL_ENVIRONMENTS:
    'environment plugins an env service offers, separated by commas (the one of the run file)',
  UIRL_PLUGINS:
    'modules whose components runs may choose, besides those of the project, separated by commas: paths (./…) or npm packages',
  UIRL_LOG_LEVEL: 'error, warn, log, debug or verbose (log)',
  UIRL_CACHE_DIR:
    'folder of downloads and copies: checkpoints, files, weights in another type (~/.cache/ui-rl), what the set-up fetches (there, too; .cache of a clone)',
  UIRL_SETUP_SECONDS: 'seconds the set-up took, for the report',
};
