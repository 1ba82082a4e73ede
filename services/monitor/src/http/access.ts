import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { isSameSecret } from '@ui-rl/http';

const COOKIE_SECONDS = 30 * 86_400;
const LONGEST_FORM = 4_096;
/** Identifies this monitor without data of any run: the command line uses it to find the right address. */
const OPEN = '/api/monitor';

const STYLE = `
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { display: grid; place-items: center; min-height: 100vh; margin: 0; background: light-dark(#f5f6f8, #111419); color: light-dark(#1b1f27, #e6e9ef) }
main { box-sizing: border-box; width: min(400px, 100vw - 32px); padding: 24px; border: 1px solid light-dark(#e3e6eb, #2a303a); border-radius: 10px; background: light-dark(#fff, #191d24) }
h1 { margin: 0 0 8px; font-size: 20px }
p { margin: 0 0 16px; color: light-dark(#5d6574, #a3acbb) }
[role=alert] { padding: 6px 10px; border-radius: 6px; background: light-dark(#fbe5e7, #3d1c20); color: light-dark(#a8222d, #ff9aa1) }
label { display: grid; gap: 4px; margin-bottom: 12px }
input, button { box-sizing: border-box; width: 100%; padding: 8px 10px; border: 1px solid light-dark(#c9ced8, #3a4250); border-radius: 6px; font: inherit }
button { border-color: #3757d6; background: #3757d6; color: #fff; font-weight: 600; cursor: pointer }
`;
const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64');

/** @param problem what was wrong with the last attempt */
function form(problem?: string): string {
  const alert = problem === undefined ? '' : `<p role="alert">${problem}</p>`;
  return `<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>Sign in · ui-rl</title><style>${STYLE}</style></head>
<body><main><h1>ui-rl monitor</h1><p>The log of the monitor says where its token is.</p>${alert}
<form method="post"><label>Token <input type="password" name="token" autocomplete="current-password" autofocus required></label><button>Open</button></form></main></body></html>
`;
}

/**
 * Admits readers with the token: as `Authorization: Bearer`, or in the cookie that they get after typing it into a
 * form. Asks all others for it.
 */
export class TokenGate {
  private readonly session: string;
  private readonly cookie: string;

  /** @param isSecure whether the page is only reachable over https */
  constructor(
    private readonly token: string,
    private readonly isSecure: boolean,
  ) {
    this.session = createHmac('sha256', token).update('ui-rl monitor').digest('base64url');
    // All ports of a host share its cookies, and other monitors may use those ports.
    this.cookie = `ui-rl-${createHmac('sha256', token).update('name').digest('hex').slice(0, 8)}`;
  }

  /** Whether the request may proceed; otherwise it has been answered. */
  passes(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url === OPEN || this.isKnown(request)) return true;
    if (request.method === 'POST') void this.login(request, response);
    else refuse(request, response);
    return false;
  }

  private isKnown({ headers }: IncomingMessage): boolean {
    const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (bearer !== undefined && isSameSecret(bearer, this.token)) return true;
    const cookies = (headers.cookie ?? '').split(';').map((each) => each.trim());
    return cookies.some(
      (each) =>
        each.startsWith(`${this.cookie}=`) && isSameSecret(each.slice(this.cookie.length + 1), this.session),
    );
  }

  private async login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await bodyOf(request);
    const typed = form === undefined ? null : new URLSearchParams(form).get('token');
    if (typed === null || !isSameSecret(typed.trim(), this.token))
      return refuse(request, response, 'This is not the token of this monitor. Copy it again from its log.');
    const attributes = `Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${this.isSecure ? '; Secure' : ''}`;
    response
      .writeHead(303, {
        'Set-Cookie': `${this.cookie}=${this.session}; ${attributes}`,
        Location: toItself(request.url ?? '/'),
      })
      .end();
  }
}

/** Redirects a page to itself, behind any path prefix that a proxy adds on this host; never to another host. */
function toItself(url: string): string {
  const [path] = url.split('?');
  return `./${path.slice(path.lastIndexOf('/') + 1)}${url.slice(path.length)}`;
}

function refuse(request: IncomingMessage, response: ServerResponse, problem?: string): void {
  if (response.destroyed) return;
  response.setHeader('WWW-Authenticate', 'Bearer realm="ui-rl monitor"');
  if (/text\/html/.test(request.headers.accept ?? '')) {
    const policy = `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`;
    const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy };
    response.writeHead(401, headers).end(form(problem));
    return;
  }
  const message = 'show the token of the monitor (Authorization: Bearer …): its log says where it is';
  response
    .writeHead(401, { 'Content-Type': 'application/json' })
    .end(JSON.stringify({ statusCode: 401, message }));
}

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  let text = '';
  try {
    for await (const chunk of request) {
      text += String(chunk);
      if (text.length > LONGEST_FORM) return undefined;
    }
    return text;
  } catch {
    return undefined;
  }
}
