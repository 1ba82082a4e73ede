/**
 * Request/reply messages, encoded as MessagePack because they carry pixels. A reply is `{ok: true, value}` or `{ok:
 * false, error: {code, message}}` (`Reply`).
 */
export * from './reply';
export * from './environment';
export * from './policy';
export * from './serving';
export * from './sampling';
