import type { S3Options } from './s3/options';

/** How to reach NATS. Filled by `@ui-rl/settings` from the environment; nothing here is logged but `servers`. */
export interface BusOptions {
  /** Service name: shown by `nats server report connections`, part of dead letters. */
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
  /** Where answers arrive; default: `_INBOX`, where everybody listens. */
  inboxPrefix?: string;
  /** What JetStream's API is called here; default: `$JS.API`. */
  apiPrefix?: string;
  /** How many servers of a cluster keep each stream and bucket; absent: new ones are kept by one, existing ones stay as they are. */
  replicas?: number;
  /** Where screenshots, large messages, checkpoints and shared files lie, if not at the broker. The same for all its services. */
  blobs?: S3Options;
  /** Ends the waiting for the first connection. */
  signal?: AbortSignal;
  /** The longest time to wait for the first connection, in milliseconds. Default: for as long as it takes, and the log says so. */
  connectWithinMs?: number;
}
