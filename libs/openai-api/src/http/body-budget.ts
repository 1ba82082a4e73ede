import { ApiError } from '../errors';
import type { IncomingMessage } from 'node:http';
import type { HttpResponse } from './messages';

/** What a request may ask for of the bytes of all: so many of the longest ones fit at a time. */
const SHARE = 8;

/** Bytes of bodies that are read or answered at a time: before one is read it is known whether there is memory for it. */
export class BodyBudget {
  private left: number;

  /** @param maxBodyBytes of one request */
  constructor(
    private readonly maxBodyBytes: number,
    maxRequests: number,
  ) {
    this.left = maxBodyBytes * Math.max(1, Math.ceil(maxRequests / SHARE));
  }

  /** Takes what a request may need, until it is answered. @throws ApiError 429 */
  takeFor(request: Pick<IncomingMessage, 'headers'>, response: HttpResponse): void {
    response.once('close', this.take(this.needOf(request)));
  }

  /** Takes so many bytes, and gives what brings them back. @throws ApiError 429 */
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

  /** As many bytes as it says; as many as it may have where that is not known, or is less than it becomes. */
  private needOf({ headers }: Pick<IncomingMessage, 'headers'>): number {
    const isPlain = headers['transfer-encoding'] === undefined && headers['content-encoding'] === undefined;
    const said = Number(headers['content-length'] ?? 0);
    // What is longer than it may be is not read at all.
    if (isPlain) return said > this.maxBodyBytes ? 0 : said;
    return this.maxBodyBytes;
  }
}
