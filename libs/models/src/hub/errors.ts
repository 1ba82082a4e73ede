import { ModelError } from '../errors';

/**
 * Why the hub did not deliver what was requested: `unreachable` (no connection, or the server has a problem of its own),
 * `denied` (401, 403), `absent` (404), `offline` (not in the cache, and nothing may be fetched), `unusable` (it is there, but
 * no model that can be loaded), `damaged` (not the bytes that were announced), `disk`.
 */
export type HubErrorKind =
  'unreachable' | 'denied' | 'absent' | 'offline' | 'unusable' | 'damaged' | 'disk' | 'stopped';

/** A model could not be brought from the hub. Messages never hold the token or a signed address. */
export class HubError extends ModelError {
  constructor(
    readonly kind: HubErrorKind,
    message: string,
    options?: { cause?: unknown },
  ) {
    super('hub', message, options);
    this.name = 'HubError';
  }
}

/** An error of the file system while the cache is written, in words where it is a full disk. */
export function diskError(path: string, cause: unknown): unknown {
  const { code } = cause as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT') {
    const message = `${path}: the disk is full; what has arrived is kept, so free some space and start again`;
    return new HubError('disk', message, { cause });
  }
  if (code === 'EACCES' || code === 'EROFS' || code === 'EPERM') {
    const message = `${path} cannot be written; HF_HUB_CACHE or HF_HOME names another cache folder`;
    return new HubError('disk', message, { cause });
  }
  return cause;
}
