import type { S3Options } from './s3/options';

/** How to reach NATS. `@ui-rl/settings` reads it from the environment; only `servers` is ever logged. */
export interface BusOptions {
  /** Service name, shown by `nats server report connections` and in dead letters. */
  service: string;
  /** `nats://host:port` or `tls://host:port`; several for a cluster. */
  servers: string[];
  /** Path of a `.creds` file (JWT and key). */
  credentialsFile?: string;
  user?: string;
  password?: string;
  token?: string;
  tls?: {
    caFile?: string;
    certFile?: string;
    keyFile?: string;
    /** false accepts any server certificate; for tests only. */
    rejectUnauthorized?: boolean;
  };
  /** Inbox prefix for replies. Default: `_INBOX`, which all clients share. */
  inboxPrefix?: string;
  /** Prefix of the JetStream API. Default: `$JS.API`. */
  apiPrefix?: string;
  /**
   * Number of replicas of each stream and bucket in a cluster. Default: one for new ones; existing ones are left
   * unchanged.
   */
  replicas?: number;
  /**
   * Bucket for screenshots, large messages, checkpoints and shared files, if they are not stored at the broker. The
   * same for all services of a broker.
   */
  blobs?: S3Options;
  /** Aborts the first connection. */
  signal?: AbortSignal;
  /** Time limit for the first connection in ms. Default: none; the wait is logged. */
  connectWithinMs?: number;
}
