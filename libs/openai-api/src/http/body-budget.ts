import { ApiError } from '../errors';
import type { IncomingMessage } from 'node:http';
import type { HttpResponse } from './messages';

/** One in this many concurrent requests may have the maximum size. */
const SHARE = 8;

/** A budget of bytes for bodies in progress: memory is reserved before a body is read. */
export class BodyBudget {
  private left: number;

  /** @param maxBodyBytes of one request */
  constructor(
    private readonly maxBodyBytes: number,
    maxRequests: number,
  ) {
    this.left = maxBodyBytes * Math.max(1, Math.ceil(maxRequests / SHARE));
  }

  /** Reserves the memory of a request until it is answered. @throws ApiError 429 */
  takeFor(request: Pick<IncomingMessage, 'headers'>, response: HttpResponse): void {
    response.once('close', this.take(this.needOf(request)));
  }

  /** Reserves bytes and returns a function that releases them. @throws ApiError 429 */
  take(bytes: number): () => void {
    if (bytes > this.left) {
      throw new ApiError(
        429,
        'there is no memory for a request as long as this beside those that are answered at the moment',
        'rate_limit_exceeded',
      );
    }
    this.left -= bytes;
    return () => void (this.left += bytes);
  }

  /** The declared length; the maximum if it is unknown or compressed. */
  private needOf({ headers }: Pick<IncomingMessage, 'headers'>): number {
    const isPlain = headers['transfer-encoding'] === undefined && headers['content-encoding'] === undefined;
    const said = Number(headers['content-length'] ?? 0);
    // A body beyond the maximum is not read at all.
    if (isPlain) return said > this.maxBodyBytes ? 0 : said;
    return this.maxBodyBytes;
  }
}
