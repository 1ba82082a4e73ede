import type { EnvironmentReader } from './environment-reader';

/** A bucket of S3 or of an S3-compatible service; in the form of `BusService.connect`. */
export interface BlobsSettings {
  bucket: string;
  /** Prefix of all keys; '' for none. */
  prefix: string;
  endpoint?: string;
  region?: string;
  /** Undefined: AWS's own client finds them. */
  credentials?: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
}

const ADDRESS = /^s3:\/\/([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(?:\/([\w.-]+(?:\/[\w.-]+)*))?\/?$/;
const ENDPOINT = /^https?:\/\/[^\s@#?]+$/;

/** Reads `BLOBS` and, if it is set, the variables of AWS's client, whose secrets may be in files. */
export function readBlobs(reader: EnvironmentReader): { blobs?: BlobsSettings } {
  const address = reader.text('BLOBS');
  if (address === undefined) return {};
  const [, bucket, prefix = ''] = ADDRESS.exec(address) ?? [];
  if (bucket === undefined)
    return reader.refuse(
      'BLOBS',
      address.replace(/\/\/[^/]*@/, '//…@'),
      's3://bucket or s3://bucket/prefix',
      {},
    );
  const region = reader.text('AWS_REGION');
  const endpoint = readEndpoint(reader);
  return {
    blobs: {
      ...{ bucket, prefix },
      endpoint,
      region,
      ...readCredentials(reader),
    },
  };
}

function readEndpoint(reader: EnvironmentReader): string | undefined {
  const names = ['AWS_ENDPOINT_URL_S3', 'AWS_ENDPOINT_URL'] as const;
  const name = names.find((each) => reader.text(each) !== undefined);
  if (name === undefined) return undefined;
  const url = reader.text(name)!;
  if (ENDPOINT.test(url)) return url;
  return reader.refuse(name, url.replace(/\/\/[^/]*@/, '//…@'), 'https://host:port', undefined);
}

function readCredentials(reader: EnvironmentReader): Pick<BlobsSettings, 'credentials'> {
  const accessKeyId = reader.text('AWS_ACCESS_KEY_ID');
  const secretAccessKey = reader.text('AWS_SECRET_ACCESS_KEY');
  const sessionToken = reader.text('AWS_SESSION_TOKEN');
  if (accessKeyId === undefined && secretAccessKey === undefined) return {};
  if (accessKeyId === undefined || secretAccessKey === undefined) {
    const set = accessKeyId === undefined ? 'AWS_SECRET_ACCESS_KEY' : 'AWS_ACCESS_KEY_ID';
    return reader.refuse(set, '[hidden]', 'AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY together', {});
  }
  return {
    credentials: { accessKeyId, secretAccessKey, sessionToken },
  };
}
