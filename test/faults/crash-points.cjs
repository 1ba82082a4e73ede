// Preloaded into services (NODE_OPTIONS=--require): before and after each operation that stores or sends something,
// it checks whether the process must crash at this point. It records the points that are passed. The product itself
// is unchanged.
const fs = require('node:fs');
const promises = require('node:fs/promises');
const { dirname, join } = require('node:path');

/**
 * Folder with `plan.json` ({point: number of the passing}), `passed` (one point per line) and a folder `crashed` (one
 * file per crash).
 */
const folder = process.env.CRASH_POINTS;
const service = /services\/([a-z-]+)\/src\/main\.js$/.exec(process.argv[1] ?? '')?.[1];

if (folder !== undefined && service !== undefined) {
  const plan = JSON.parse(fs.readFileSync(join(folder, 'plan.json'), 'utf8'));
  const times = new Map();
  const { openSync, appendFileSync } = fs;

  /** Whether the service must crash here. It does so once over all restarts. */
  const isDue = (point) => {
    appendFileSync(join(folder, 'passed'), `${point}\n`);
    if (plan[point] === undefined) return false;
    const count = (times.get(point) ?? 0) + 1;
    times.set(point, count);
    if (count !== plan[point]) return false;
    try {
      openSync(join(folder, 'crashed', encodeURIComponent(point)), 'wx');
      return true;
    } catch {
      return false;
    }
  };

  const crash = () => {
    process.kill(process.pid, 'SIGKILL');
    // Blocks this thread until the signal arrives.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };

  /**
   * @param describe returns the point's name from `this` and the arguments; null for calls that are not a point
   * @param sent for calls that only fill a buffer: resolves when the broker has received the data
   */
  const around = (owner, name, describe, sent) => {
    const original = owner[name];
    owner[name] = function wrapped(...args) {
      const what = describe.apply(this, args);
      if (what === null) return original.apply(this, args);
      if (isDue(`${service} before ${what}`)) crash();
      const after = () => isDue(`${service} after ${what}`);
      const result = original.apply(this, args);
      if (typeof result?.then === 'function')
        return result.then((value) => {
          if (after()) crash();
          return value;
        });
      if (after()) {
        if (sent === undefined) crash();
        else sent.call(this).finally(crash);
      }
      return result;
    };
  };

  /**
   * The kind of a message: `$KV.runs.demo.policy` is `write runs policy`, `uirl.event.demo.phase` is `publish event
   * phase`.
   */
  const kindOf = (subject) => {
    const [root, kind, , last] = subject.split('.');
    if (root === '$KV') return kind === 'runs' ? `write runs ${last}` : `write ${kind}`;
    if (root === '$O') return `write ${kind} ${subject.split('.')[2] === 'C' ? 'chunk' : 'entry'}`;
    return `publish ${kind} ${kind === 'blob' || kind === 'parcel' ? '' : (last ?? '')}`.trim();
  };

  /** `uirl.env.at.<instance>.step` is `env step`; null for requests to the broker itself or to a stream. */
  const exchangeOf = (subject) => {
    const [root, kind, ...rest] = subject.split('.');
    if (root !== 'uirl' || !['env', 'policy', 'serving', 'monitor'].includes(kind)) return null;
    return kind === 'env' || kind === 'policy' ? `${kind} ${rest.at(-1)}` : kind;
  };

  const fileKind = (path) =>
    String(path)
      .replace(/uirl-e2e-\w+/, 'fleet')
      .split('/')
      .slice(-2)
      .join('/')
      .replace(/\.[A-Za-z0-9]{6}(?=\/|$)/g, '.T')
      .replace(/[0-9a-f]{8,}(-[0-9a-f]{4,})*/g, 'H')
      .replace(/\d+/g, 'N');

  const library = (name, file) =>
    require(join(dirname(require.resolve(`@nats-io/${name}`, { paths: [__dirname] })), file));
  const { JetStreamClientImpl } = library('jetstream', 'jsclient.js');
  const { JsMsgImpl } = library('jetstream', 'jsmsg.js');
  const { NatsConnectionImpl } = library('nats-core', 'nats.js');
  const { MsgImpl } = library('nats-core', 'msg.js');

  around(JetStreamClientImpl.prototype, 'publish', (subject) => kindOf(subject));
  for (const name of ['ackAck', 'ack', 'nak', 'term'])
    around(
      JsMsgImpl.prototype,
      name,
      function describe() {
        return kindOf(this.subject).replace('publish', name);
      },
      function flush() {
        return this.msg.publisher.flush();
      },
    );
  around(NatsConnectionImpl.prototype, 'request', (subject) => {
    const exchange = exchangeOf(subject);
    return exchange === null ? null : `request ${exchange}`;
  });
  around(
    MsgImpl.prototype,
    'respond',
    function describe() {
      const exchange = exchangeOf(this.subject);
      return exchange === null ? null : `reply ${exchange}`;
    },
    function flush() {
      return this.publisher.flush();
    },
  );
  for (const owner of [promises, fs]) {
    const name = owner === promises ? 'rename' : 'renameSync';
    around(owner, name, (_from, to) => `rename ${fileKind(to)}`);
  }
}
