import { homedir } from 'node:os';
import { join } from 'node:path';
import { withoutUrlSecrets } from '@ui-rl/plugin-kit';
import type { EnvironmentReader } from './environment-reader';

/**
 * Access to the model hub, from the variables that Python's huggingface_hub also reads; in the form of
 * `resolveModel`.
 */
export interface HubSettings {
  endpoint: string;
  cacheDir: string;
  token?: string;
  /** Read if the environment has no token. */
  tokenFile: string;
  offline: boolean;
}

export function readHub(reader: EnvironmentReader): HubSettings {
  const home = reader.text('HF_HOME') ?? join(reader.text('XDG_CACHE_HOME') ?? '~/.cache', 'huggingface');
  return {
    endpoint: readEndpoint(reader),
    cacheDir: inHome(reader.text('HF_HUB_CACHE') ?? join(home, 'hub')),
    token: reader.text('HF_TOKEN'),
    tokenFile: inHome(reader.text('HF_TOKEN_PATH') ?? join(home, 'token')),
    offline: /^(1|on|yes|true)$/i.test(reader.text('HF_HUB_OFFLINE') ?? ''),
  };
}

function readEndpoint(reader: EnvironmentReader): string {
  const endpoint = reader.text('HF_ENDPOINT') ?? 'https://huggingface.co';
  if (/^https?:\/\/[^/\s@]+(\/\S*)?$/.test(endpoint)) return endpoint.replace(/\/+$/, '');
  return reader.refuse(
    'HF_ENDPOINT',
    withoutUrlSecrets(endpoint),
    'an address such as https://huggingface.co',
    endpoint,
  );
}

export function inHome(path: string): string {
  return path === '~' || path.startsWith('~/') ? join(homedir(), path.slice(1)) : path;
}
