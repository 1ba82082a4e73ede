import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const COOKIE_SECONDS = 30 * 86_400;
const LONGEST_FORM = 4_096;
/** Says who this monitor is, and nothing of a run: the command line finds the right address by it. */
const OPEN = '/api/monitor';

const FORM = `<!doctype html><html lang="en"><meta charset="utf-8"><title>ui-rl monitor</title>
<h1>ui-rl monitor</h1><p>The log of the monitor says where its token is.</p>
<form method="post"><label>Token <input type="password" name="token" autofocus required></label> <button>Open</button></form></html>
`;

/**
 * Lets those through who show the token: as `Authorization: Bearer`, or by the cookie that they get for typing it into a form.
 * Everybody else is asked for it.
 */
export class TokenGate {
  private readonly session: string;
  private readonly cookie: string;

  /** @param isSecure whether the page is reached by https alone */
  constructor(
    private readonly token: string,
    private readonly isSecure: boolean,
  ) {
    this.session = createHmac('sha256', token).update('ui-rl monitor').digest('base64url');
    // Cookies of one host are shared by all its ports, where other monitors may be.
    this.cookie = `ui-rl-${createHmac('sha256', token).update('name').digest('hex').slice(0, 8)}`;
  }

  /** Whether the request may go on; else it is answered. */
  passes(request: IncomingMessage, response: ServerResponse): boolean {
    if (request.url === OPEN || this.isKnown(request)) return true;
    if (request.method === 'POST') void this.login(request, response);
    else refuse(request, response);
    return false;
  }

  private isKnown({ headers }: IncomingMessage): boolean {
    const [, bearer] = /^Bearer (.+)$/i.exec(headers.authorization ?? '') ?? [];
    if (bearer !== undefined && isSame(bearer, this.token)) return true;
    const cookies = (headers.cookie ?? '').split(';').map((each) => each.trim());
    return cookies.some(
      (each) =>
        each.startsWith(`${this.cookie}=`) && isSame(each.slice(this.cookie.length + 1), this.session),
    );
  }

  private async login(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const form = await bodyOf(request);
    const typed = form === undefined ? null : new URLSearchParams(form).get('token');
    if (typed === null || !isSame(typed.trim(), this.token)) return refuse(request, response);
    const attributes = `Path=/; Max-Age=${COOKIE_SECONDS}; HttpOnly; SameSite=Lax${this.isSecure ? '; Secure' : ''}`;
    response
      .writeHead(303, {
        'Set-Cookie': `${this.cookie}=${this.session}; ${attributes}`,
        Location: toItself(request.url ?? '/'),
      })
      .end();
  }
}

/** From the page at a path to the same page, whatever path of this host a proxy has it below; never to another host. */
function toItself(url: string): string {
  const [path] = url.split('?');
  return `./${path.slice(path.lastIndexOf('/') + 1)}${url.slice(path.length)}`;
}

function refuse(request: IncomingMessage, response: ServerResponse): void {
  if (response.destroyed) return;
  response.setHeader('WWW-Authenticate', 'Bearer realm="ui-rl monitor"');
  if (/text\/html/.test(request.headers.accept ?? '')) {
    const policy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': policy };
    response.writeHead(401, headers).end(FORM);
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

/** Takes as long wherever the first difference is. */
function isSame(found: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}
