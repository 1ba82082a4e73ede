/** Whether a value is the address of a server: http or https, an optional path, nothing after it. */
export function isServerAddress(value: unknown): value is string {
  return (
    typeof value === 'string' && /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(value) && URL.canParse(value)
  );
}

/** Normalized form for comparison and display: without a trailing slash. */
export function serverAddress(text: string): string {
  return new URL(text).href.replace(/\/+$/, '');
}

/** Parses a comma-separated list of addresses; invalid ones are returned separately. */
export function readAddresses(text: string | undefined): { addresses: string[]; wrong: string[] } {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  const named = entries.filter((entry) => entry !== '');
  return {
    addresses: named.filter(isServerAddress).map(serverAddress),
    wrong: named.filter((entry) => !isServerAddress(entry)),
  };
}

/**
 * Parses keys by origin, `http://host:port=key, …`: each is sent only to its own server. Null for an invalid format.
 */
export function readServerKeys(text: string | undefined): Record<string, string> | null {
  const keys: Record<string, string> = {};
  for (const entry of (text ?? '').split(',').map((each) => each.trim())) {
    if (entry === '') continue;
    const [, address, key] = /^(https?:\/\/[^/=\s]+)=([\x21-\x7e]+)$/.exec(entry) ?? [];
    if (address === undefined || !URL.canParse(address)) return null;
    keys[new URL(address).origin] = key;
  }
  return keys;
}
