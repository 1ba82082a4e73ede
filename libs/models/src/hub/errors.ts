import { ModelError } from '../errors';

/**
 * Why a download from the hub failed: `unreachable` (no connection, or a server error), `denied` (401, 403), `absent`
 * (404), `offline` (not cached, and fetching is disabled), `unusable` (it exists, but is not a loadable model),
 * `damaged` (the bytes do not match their hash), `disk`.
 */
export type HubErrorKind =
  'unreachable' | 'denied' | 'absent' | 'offline' | 'unusable' | 'damaged' | 'disk' | 'stopped';

/** A failed fetch of a model from the hub. Messages never contain the token or a signed address. */
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

/** Whether a later attempt at the same model may succeed, without a change of the run. */
export function isHubAway(error: unknown): boolean {
  return error instanceof HubError && ['unreachable', 'disk', 'stopped'].includes(error.kind);
}

/** An error of the file system while writing the cache; a full disk gets a clear message. */
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
