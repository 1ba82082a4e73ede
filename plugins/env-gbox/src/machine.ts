import { PluginError } from '@ui-rl/plugin-kit';

/** Environment variables of an env service for GBox. */
export const VARIABLES = {
  GBOX_API_KEY: 'key of GBox, sent to its address only',
  GBOX_BASE_URL: 'address of its API (https://gbox.ai/api/v1/)',
} as const;

/** Address and key of GBox. */
export interface Account {
  /** With a trailing slash. */
  baseUrl: string;
  key: string;
}

/** Throws `PluginError` if the key is missing, or the address would transmit it unencrypted. */
export function accountOf(variables: Readonly<Record<string, string>>): Account {
  const { GBOX_API_KEY: key, GBOX_BASE_URL: address = 'https://gbox.ai/api/v1/' } = variables;
  if (key === undefined) {
    throw new PluginError(
      'option',
      'environment gbox: GBOX_API_KEY of the env service is not set (https://gbox.ai has keys)',
    );
  }
  if (!/^[\x21-\x7e]+$/.test(key)) {
    throw new PluginError(
      'option',
      'environment gbox: GBOX_API_KEY is not a key: it has spaces or letters beyond ASCII',
    );
  }
  return { baseUrl: readAddress(address), key };
}

function readAddress(address: string): string {
  const url = URL.canParse(address) ? new URL(address) : null;
  const isOwn = url !== null && ['127.0.0.1', 'localhost', '[::1]'].includes(url.hostname);
  if (
    url === null ||
    (url.protocol !== 'https:' && !(isOwn && url.protocol === 'http:')) ||
    url.username !== ''
  ) {
    throw new PluginError(
      'option',
      'environment gbox: GBOX_BASE_URL is not an address such as https://host/path/; http is taken on this machine only',
    );
  }
  return url.href.endsWith('/') ? url.href : `${url.href}/`;
}
