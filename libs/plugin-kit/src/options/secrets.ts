import { show } from '../show';
import type { OptionInfo } from './types';

const SECRET =
  /pass(word|phrase)?|token|secret|(api|access|private|signing)_?key|creds|credential|authorization|cookie|\bdsn\b/i;
const HIDDEN = '[hidden]';

export type IsSecret = (key: string, value: unknown) => boolean;

/** Whether a text under that name is likely a secret. Numbers are limits such as `max_tokens`, not secrets. */
export function soundsSecret(key: string, value: unknown): boolean {
  return typeof value === 'string' && SECRET.test(key);
}

/** A copy with secrets hidden, including those within addresses. */
export function withoutSecrets(value: unknown, isSecret: IsSecret = soundsSecret): unknown {
  if (typeof value === 'string') return withoutUrlSecrets(value);
  if (Array.isArray(value)) return value.map((part) => withoutSecrets(part, isSecret));
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, part]) => [
      key,
      isSecret(key, part) ? HIDDEN : withoutSecrets(part, isSecret),
    ]),
  );
}

/** The value of an option as messages show it. */
export function showOption({ name, secret }: Pick<OptionInfo, 'name' | 'secret'>, value: unknown): string {
  return secret === true || soundsSecret(name, value) ? HIDDEN : show(withoutSecrets(value));
}

/** Hides passwords and secret parameters of the addresses in a text. */
export function withoutUrlSecrets(text: string): string {
  return (
    text
      // Schemes are short: without a length limit, every letter of a long text would start a match that scans to the
      // text's end.
      .replace(/([a-z][a-z0-9+.-]{0,30}:\/\/)([^/@\s]*)@/gi, (_, scheme: string, user: string) => {
        const [name, password] = user.split(':');
        return `${scheme}${password === undefined ? HIDDEN : `${name}:${HIDDEN}`}@`;
      })
      .replace(/([?&;])([\w.-]+)=([^&;#\s]+)/g, (all, mark: string, key: string, value: string) =>
        soundsSecret(key, value) || /^(key|sig|signature)$/i.test(key) ? `${mark}${key}=${HIDDEN}` : all,
      )
  );
}
