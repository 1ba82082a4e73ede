// Downloads a wheel from a package index: `node fetch-wheel.mjs PROJECT WHEEL FILE`. PIP_INDEX_URL replaces PyPI.
import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

const PYPI = 'https://pypi.org/simple';
/** Media types of the simple repository API (PEP 691), and of its older form (PEP 503). */
const FORMS =
  'application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1';

/** pip's index; undefined if it is not an HTTP URL, or if pip is configured without an index. */
export function indexUrl({ PIP_INDEX_URL: url, PIP_NO_INDEX: none } = process.env) {
  if (none && !/^(0|false|no|off)$/i.test(none)) return undefined;
  return /^https?:/.test(url || PYPI) ? url || PYPI : undefined;
}

/** An address without its password. */
export function withoutPassword(address) {
  const url = new URL(address);
  return Object.assign(url, { username: '', password: '' }).href;
}

/**
 * Sends the name and password of an address in a header, to its own origin only: `fetch` rejects addresses that
 * contain them.
 */
function asked(address, index) {
  const { origin, username, password } = new URL(index);
  const isOwn = username !== '' && new URL(address).origin === origin;
  const secret = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString(
    'base64',
  );
  return isOwn ? { authorization: `Basic ${secret}` } : {};
}

async function get(address, index, headers = {}) {
  const url = withoutPassword(address);
  const response = await fetch(url, { headers: { ...headers, ...asked(address, index) } }).catch((error) => {
    throw new Error(`${url}: ${error.cause?.message ?? error.message}`);
  });
  if (!response.ok) throw new Error(`${url} answers ${response.status}`);
  return response;
}

/** The address of a file of a project. */
async function fileUrl(project, name, index) {
  const response = await get(`${index.replace(/\/+$/, '')}/${project}/`, index, { accept: FORMS });
  const text = await response.text();
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const urls = isJson
    ? JSON.parse(text)
        .files.filter(({ filename }) => filename === name)
        .map(({ url }) => url)
    : [...text.matchAll(/href\s*=\s*["']([^"']+)["']/gi)].map(([, url]) => url.replaceAll('&amp;', '&'));
  const found = urls
    .map((url) => new URL(url, response.url))
    .find(({ pathname }) => pathname.endsWith(`/${name}`));
  if (found === undefined) throw new Error(`${response.url} has no ${name}`);
  found.hash = '';
  return found.href;
}

async function fetchWheel(project, name, file, index = indexUrl()) {
  const url = await fileUrl(project, name, index);
  const response = await get(url, index);
  writeFileSync(file, Buffer.from(await response.arrayBuffer()));
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [project, name, file] = process.argv.slice(2);
  await fetchWheel(project, name, file).catch((error) => {
    console.error(error.message);
    process.exitCode = 1;
  });
}
