/** How much a page may send at once, and at what rate; far above what loading a page needs. */
const BURST = { cost: 5_000, bytes: 64 * 2 ** 20 };
const PER_SECOND = { cost: 1_000, bytes: 16 * 2 ** 20 };
/** Share of a burst below which a page is calm. */
const CALM = 0.1;
/** Cost of an event without listeners, relative to one with listeners. */
const UNHEARD_COST = 0.5;

/** The traffic of one context. */
export interface TrafficWatch {
  /** Whether its pages send no more than is normal between two steps. */
  isCalm(): boolean;
  /** Number of events that its pages have sent so far. */
  events(): number;
  end(): void;
}

/**
 * Measures the events that pages cause: console messages, requests and frames are events of the browser connection.
 * All pages share it, so a page that exceeds its share is cut off before it delays the others.
 */
export class Traffic {
  /** DevTools session → context of the page. */
  private readonly contexts = new Map<string, string>();
  private readonly meters = new Map<string, Meter>();

  /** Calls `onFlood` once when the pages of a context exceed their share. */
  watch(contextId: string, onFlood: () => void): TrafficWatch {
    const meter = new Meter(onFlood);
    this.meters.set(contextId, meter);
    return {
      isCalm: () => meter.isCalm(),
      events: () => meter.events,
      end: () => void this.meters.delete(contextId),
    };
  }

  attached(sessionId: string, contextId: string): void {
    this.contexts.set(sessionId, contextId);
  }

  detached(sessionId: string): void {
    this.contexts.delete(sessionId);
  }

  /** Whether an event of this size is within the share of its page. */
  admits(sessionId: string | null, bytes: number, isHeard: boolean): boolean {
    return this.meterOf(sessionId)?.admits(bytes, isHeard ? 1 : UNHEARD_COST) ?? true;
  }

  /** Called when a page's message was too large to read. */
  overflowed(sessionId: string | null): void {
    this.meterOf(sessionId)?.flood();
  }

  private meterOf(sessionId: string | null): Meter | undefined {
    const contextId = sessionId === null ? undefined : this.contexts.get(sessionId);
    return contextId === undefined ? undefined : this.meters.get(contextId);
  }
}

/** A leaky bucket: filled by events, drained over time. */
class Meter {
  events = 0;
  private cost = 0;
  private bytes = 0;
  private at = performance.now();
  private flooded = false;

  constructor(private readonly onFlood: () => void) {}

  admits(bytes: number, cost: number): boolean {
    this.drain();
    this.events++;
    this.cost += cost;
    this.bytes += bytes;
    if (this.cost > BURST.cost || this.bytes > BURST.bytes) this.flood();
    return !this.flooded;
  }

  isCalm(): boolean {
    this.drain();
    return !this.flooded && this.cost < BURST.cost * CALM && this.bytes < BURST.bytes * CALM;
  }

  private drain(): void {
    const now = performance.now();
    const seconds = (now - this.at) / 1000;
    this.at = now;
    this.cost = Math.max(0, this.cost - seconds * PER_SECOND.cost);
    this.bytes = Math.max(0, this.bytes - seconds * PER_SECOND.bytes);
  }

  flood(): void {
    if (this.flooded) return;
    this.flooded = true;
    this.onFlood();
  }
}
