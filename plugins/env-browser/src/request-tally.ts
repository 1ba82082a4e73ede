import { hasFields, isRecord, type Check, type CheckResult, type RequestCheck } from '@ui-rl/plugin-kit';
import { compareAddress } from './address-check';

/** A request that a page made. */
export interface PageRequest {
  method: string;
  url: string;
  body: string | null;
}

/** Counts the requests that match checks; the requests themselves are not stored. */
export class RequestTally {
  private readonly counts = new Map<number, number>();

  constructor(private readonly checks: readonly Check[] = []) {}

  note(request: PageRequest): void {
    for (const [place, check] of this.checks.entries()) {
      if (check.kind === 'request' && fits(check, request)) this.counts.set(place, this.countOf(place) + 1);
    }
  }

  /** The result of the check at that index. */
  resultOf(place: number): CheckResult {
    const { at_most: most = Infinity, at_least: least = most === Infinity ? 1 : 0 } = this.checks[
      place
    ] as RequestCheck;
    const count = this.countOf(place);
    return {
      holds: count >= least && count <= most,
      found: `${count} ${count === 1 ? 'request' : 'requests'}`,
    };
  }

  private countOf(place: number): number {
    return this.counts.get(place) ?? 0;
  }
}

function fits({ method, url, body }: RequestCheck, request: PageRequest): boolean {
  if (method !== undefined && method !== request.method) return false;
  if (!compareAddress('matches', request.url, url)) return false;
  if (body === undefined) return true;
  if (request.body === null) return false;
  return typeof body === 'string' ? request.body.includes(body) : hasFields(fieldsOf(request.body), body);
}

/** Parses a JSON body, otherwise a form body. */
function fieldsOf(body: string): Record<string, unknown> {
  try {
    const parsed: unknown = JSON.parse(body);
    if (isRecord(parsed)) return parsed;
  } catch {
    // Not JSON.
  }
  return Object.fromEntries(new URLSearchParams(body));
}
