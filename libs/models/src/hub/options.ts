import type { RetryPolicy } from '@ui-rl/retry';

/** How to reach a model hub and where its files are kept. */
export interface HubOptions {
  /** `https://huggingface.co`, or a compatible server */
  endpoint: string;
  /** folder of `models--<organisation>--<name>`, shared with Python's huggingface_hub */
  cacheDir: string;
  /** sent only to the endpoint, never to redirect targets, and never part of a message */
  token?: string;
  /** file with the token, if `token` is undefined */
  tokenFile?: string;
  /** use only the cache */
  offline?: boolean;
  /** called with lines about progress or a fallback to the cache */
  onProgress?: (line: string) => void;
  /** aborts requests and downloads; received bytes are kept and resumed next time */
  signal?: AbortSignal;
  /** pauses before retries, in ms. Default `RETRIES.hubQuestion` and `hubDownload` */
  retry?: Pick<RetryPolicy, 'firstMs' | 'maxMs'>;
  /** time in ms without data after which a connection is dropped. Default `DEADLINES.hubStall` */
  stallMs?: number;
}
