/**
 * A bucket of S3 or of an S3-compatible service. Filled by `@ui-rl/settings`; only `bucket`, `prefix` and `endpoint`
 * are ever shown.
 */
export interface S3Options {
  bucket: string;
  /** Prefix of all keys; '' for none. */
  prefix: string;
  /** Address of a service other than AWS: `http://minio:9000`. Buckets are then part of the path. */
  endpoint?: string;
  /** Overrides the region of AWS's own configuration. */
  region?: string;
  /** Overrides AWS's credential providers: profile, web identity, machine role. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

/** In the format of `BLOBS`. */
export function addressOf({ bucket, prefix }: S3Options): string {
  return `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
}

/** For messages: the bucket's address, and the endpoint if it is not AWS. */
export function placeOf(options: S3Options): string {
  return `${addressOf(options)}${options.endpoint === undefined ? '' : ` at ${options.endpoint}`}`;
}
