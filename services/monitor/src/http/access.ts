import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';

const COOKIE_SECONDS = 30 * 86_400;
const LONGEST_FORM = 4_096;
/** Identifies this monitor without data of any run: the command line uses it to find the right address. */
const OPEN = '/api/monitor';

const FORM = `<!doctype html><html lang="en"><meta charset="utf-8"><title>ui-rl monitor</title>
<h1>ui-rl monitor</h1><p>The log of the monitor says where its token is.</p>
<form method="post"><label>Token <input type="password" name="token" autofocus required></label> <button>Open</button></form></html>
`;

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

/** Redirects a page to itself, behind any path prefix that a proxy adds on this host; never to another host. */
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

/** Compares in constant time. */
function isSame(found: string, expected: string): boolean {
  const digest = (text: string) => createHmac('sha256', 'compare').update(text).digest();
  return timingSafeEqual(digest(found), digest(expected));
}
