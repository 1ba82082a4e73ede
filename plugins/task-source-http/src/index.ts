import { storedSource, TaskEntries, type TaskSourceComponent } from '@ui-rl/plugin-kit';
import { TaskServers, VARIABLES } from './connection';
import { HttpOptions } from './options';
import { ServedTasks } from './served-tasks';

/** Tasks of a server. See `README.md` beside `src`. */
const http: TaskSourceComponent<HttpOptions> = {
  kind: 'task-source',
  name: 'http',
  description: 'Tasks of a task server, over HTTP: whole ones, or goals in words.',
  environment: {
    [VARIABLES.servers]:
      'addresses of task servers, separated by commas; run files may use these and everything below them, and no others (servers on this machine)',
    [VARIABLES.keys]:
      'keys of task servers, http://host:port=key, several separated by commas; each is sent to its own server only',
  },
  options: HttpOptions,
  create({ url, etag, max_mb: maxMb, ...defaults }, context) {
    const { log, variables = {} } = context;
    const list = {
      url: new URL(url),
      etag: etag === undefined ? undefined : quoted(etag),
      maxBytes: maxMb * 2 ** 20,
      servers: new TaskServers(variables),
      log,
    };
    return storedSource(() => ServedTasks.open(list, new TaskEntries(defaults, context)));
  },
};

function quoted(etag: string): string {
  return etag.endsWith('"') ? etag : `"${etag}"`;
}

export default http;
