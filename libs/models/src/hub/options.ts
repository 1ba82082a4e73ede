import type { RetryPolicy } from '@ui-rl/retry';

/** How to reach a model hub and where its files are kept. */
export interface HubOptions {
  /** `https://huggingface.co`, or a server that answers like it */
  endpoint: string;
  /** folder of `models--<organisation>--<name>`, shared with Python's huggingface_hub */
  cacheDir: string;
  /** sent to the endpoint only, never to where it redirects, and part of no message */
  token?: string;
  /** file the token stands in where none is given */
  tokenFile?: string;
  /** only what the cache holds */
  offline?: boolean;
  /** called with lines about progress or a fall back on the cache */
  onProgress?: (line: string) => void;
  /** ends requests and downloads; what was received is kept and gone on with next time */
  signal?: AbortSignal;
  /** pauses before repetitions of what failed, in milliseconds. Default `RETRIES.hubQuestion` and `hubDownload` */
  retry?: Pick<RetryPolicy, 'firstMs' | 'maxMs'>;
  /** a connection on which nothing arrives for so long is dropped. Default `DEADLINES.hubStall` */
  stallMs?: number;
}
