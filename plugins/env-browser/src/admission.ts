import { BrowserError } from './errors';

interface Waiting {
  cost: number;
  begin: () => void;
}

/**
 * Admits work in order of arrival while the total cost of running work stays within a limit. Opening a page keeps a
 * CPU core busy; opening many at once slows down every page, including those of running episodes.
 */
export class Admission {
  private readonly queue: Waiting[] = [];
  private used = 0;

  constructor(private readonly limit: number) {}

  /**
   * Waits for capacity, runs the work, then releases the capacity. Throws `BrowserError` `deadline` if none becomes
   * free in time.
   */
  async run<T>(cost: number, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.enter(cost, signal);
    try {
      return await work();
    } finally {
      this.used -= cost;
      this.admit();
    }
  }

  private async enter(cost: number, signal: AbortSignal): Promise<void> {
    const admitted = new Promise<void>((resolve, reject) => {
      const waiting = { cost, begin: resolve };
      this.queue.push(waiting);
      const leave = () => {
        const index = this.queue.indexOf(waiting);
        if (index < 0) return;
        this.queue.splice(index, 1);
        this.admit();
        reject(new BrowserError('deadline', 'other pages were being opened until the time was over'));
      };
      if (signal.aborted) leave();
      else {
        signal.addEventListener('abort', leave, { once: true });
        waiting.begin = () => {
          signal.removeEventListener('abort', leave);
          resolve();
        };
      }
    });
    this.admit();
    await admitted;
  }

  private admit(): void {
    for (let next = this.queue.at(0); next !== undefined; next = this.queue.at(0)) {
      if (this.used > 0 && this.used + next.cost > this.limit) return;
      this.queue.shift();
      this.used += next.cost;
      next.begin();
    }
  }
}
