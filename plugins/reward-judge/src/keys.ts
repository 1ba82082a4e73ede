import { PluginError } from '@ui-rl/plugin-kit';

/**
 * The key for an address. Keys are configured by address, since run files name addresses and may be untrusted: a key
 * is sent to its own host only.
 *
 * @param keys `https://host=key`, comma-separated
 * @throws PluginError that does not contain them
 */
export function keyFor(address: string, keys: string | undefined): string | undefined {
  const { origin } = new URL(address);
  const entries = (keys ?? '').split(',').map((entry) => entry.trim());
  for (const entry of entries.filter((each) => each !== '')) {
    const [, host, key] = /^(https?:\/\/[^/=\s]+)=([\x21-\x7e]+)$/.exec(entry) ?? [];
    if (host === undefined || !URL.canParse(host)) {
      throw new PluginError(
        'option',
        'JUDGE_API_KEYS is [hidden], expected https://host=key, several separated by commas',
      );
    }
    if (new URL(host).origin === origin) return key;
  }
  return undefined;
}
