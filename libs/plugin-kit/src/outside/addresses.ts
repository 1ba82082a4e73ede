/** What is to be written as the address of a server: http or https, a path where it is not at the root, nothing behind that. */
export function isServerAddress(value: unknown): value is string {
  return (
    typeof value === 'string' && /^https?:\/\/[^\s/?#@]+(\/[^\s?#]*)?$/.test(value) && URL.canParse(value)
  );
}

/** As it is compared and shown: no slash at the end. */
export function serverAddress(text: string): string {
  return new URL(text).href.replace(/\/+$/, '');
}

/** Addresses that are written one after the other, separated by commas; others than `isServerAddress` allows are told apart. */
export function readAddresses(text: string | undefined): { addresses: string[]; wrong: string[] } {
  const entries = (text ?? '').split(',').map((entry) => entry.trim());
  const named = entries.filter((entry) => entry !== '');
  return {
    addresses: named.filter(isServerAddress).map(serverAddress),
    wrong: named.filter((entry) => !isServerAddress(entry)),
  };
}

/** Keys by origin, of `http://host:port=key, …`: each goes to its own server only. Null where it is written in another way. */
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
