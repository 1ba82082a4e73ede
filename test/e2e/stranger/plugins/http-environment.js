// A world behind an HTTP server: POST /open, /step, /close with JSON; screenshots as base64.
const { createHash } = require('node:crypto');

function screenshot({ png, width, height }) {
  const bytes = new Uint8Array(Buffer.from(png, 'base64'));
  return { png: bytes, sha256: createHash('sha256').update(bytes).digest('hex'), width, height };
}

async function ask(url, path, body, { signal }) {
  try {
    const response = await fetch(new URL(path, url), { method: 'POST', body: JSON.stringify(body), signal });
    if (!response.ok)
      return { ok: false, error: { code: 'crashed', message: `${path}: ${response.status}` } };
    return { ok: true, value: await response.json() };
  } catch (error) {
    return { ok: false, error: { code: 'crashed', message: `${path}: ${error.message}` } };
  }
}

class Session {
  constructor(url, { id, screen, state }) {
    Object.assign(this, { url, id, state, screenshot: screenshot(screen) });
  }
  async step(action, deadline) {
    const reply = await ask(this.url, '/step', { id: this.id, action }, deadline);
    if (!reply.ok) return reply;
    const { screen, outcome } = reply.value;
    return { ok: true, value: { screenshot: screenshot(screen), outcome, done: false } };
  }
  async close(deadline) {
    const reply = await ask(this.url, '/close', { id: this.id }, deadline);
    return reply.ok ? { ok: true, value: reply.value.state } : reply;
  }
  async discard() {
    await ask(this.url, '/close', { id: this.id }, {});
  }
}

module.exports.default = {
  kind: 'environment',
  name: 'http-world',
  description: 'a world behind an HTTP server',
  options: { url: { type: 'text', required: true, description: 'address of the server' } },
  create: async ({ url }) => ({
    async open({ seed }, deadline) {
      const reply = await ask(url, '/open', { seed }, deadline);
      return reply.ok ? { ok: true, value: new Session(url, reply.value) } : reply;
    },
    async close() {},
  }),
};
