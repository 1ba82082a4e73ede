// Preloaded into services (NODE_OPTIONS=--require): before and after whatever a service makes durable or sends it looks whether this is the
// point where it is to crash. Points are written to a list as they are passed. Of the product nothing is changed for this.
const fs = require('node:fs');
const promises = require('node:fs/promises');
const { dirname, join } = require('node:path');

/** Folder with `plan.json` ({point: which time}), `passed` (a point a line) and a folder `crashed` (a file per crash). */
const folder = process.env.CRASH_POINTS;
const service = /services\/([a-z-]+)\/src\/main\.js$/.exec(process.argv[1] ?? '')?.[1];

if (folder !== undefined && service !== undefined) {
  const plan = JSON.parse(fs.readFileSync(join(folder, 'plan.json'), 'utf8'));
  const times = new Map();
  const { openSync, appendFileSync } = fs;

  /** Whether the service is to crash here. It does so once, in whichever of its lives. */
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
    // Nothing more happens in this thread, whenever the signal arrives.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  };

  /**
   * @param describe the point's name from `this` and the arguments; null where it is none
   * @param sent for what only fills a buffer: resolves when that is with the broker
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

  /** Which kind of message: `$KV.runs.demo.policy` is `write runs policy`, `uirl.event.demo.phase` is `publish event phase`. */
  const kindOf = (subject) => {
    const [root, kind, , last] = subject.split('.');
    if (root === '$KV') return kind === 'runs' ? `write runs ${last}` : `write ${kind}`;
    if (root === '$O') return `write ${kind} ${subject.split('.')[2] === 'C' ? 'chunk' : 'entry'}`;
    return `publish ${kind} ${kind === 'blob' || kind === 'parcel' ? '' : (last ?? '')}`.trim();
  };

  /** `uirl.env.at.<instance>.step` is `env step`; null for what goes to the broker itself or into a stream. */
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
