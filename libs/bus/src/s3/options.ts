/** A bucket of S3, or of what speaks its protocol. Filled by `@ui-rl/settings`; of it only `bucket`, `prefix` and `endpoint` are ever shown. */
export interface S3Options {
  bucket: string;
  /** Keys begin with it; none: ''. */
  prefix: string;
  /** Address of a service that is not AWS: `http://minio:9000`. Buckets are then part of the path. */
  endpoint?: string;
  /** Where AWS's own configuration is not to say it. */
  region?: string;
  /** Where AWS's own ways to find them are not to be gone: a profile, a web identity, the role of a machine. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

/** As `BLOBS` has it. */
export function addressOf({ bucket, prefix }: S3Options): string {
  return `s3://${bucket}${prefix === '' ? '' : `/${prefix}`}`;
}

/** For messages: the address, and where that is, if not at AWS. */
export function placeOf(options: S3Options): string {
  return `${addressOf(options)}${options.endpoint === undefined ? '' : ` at ${options.endpoint}`}`;
}
