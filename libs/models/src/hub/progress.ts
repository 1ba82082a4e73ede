const REPORT_EVERY_MS = 5_000;

/** Reports download progress every few seconds. */
export class Progress {
  private received = 0;
  private arrived = 0;
  private readonly began = performance.now();
  private reportedAt = this.began;

  constructor(
    private readonly name: string,
    private readonly totalBytes: number,
    private readonly onProgress: ((line: string) => void) | undefined,
  ) {}

  /** Adds bytes of an earlier attempt, or subtracts them if they cannot be resumed. */
  found(bytes: number): void {
    this.received += bytes;
  }

  add(bytes: number): void {
    this.received += bytes;
    this.arrived += bytes;
    const now = performance.now();
    if (now - this.reportedAt < REPORT_EVERY_MS) return;
    this.reportedAt = now;
    const rate = this.arrived / ((now - this.began) / 1000);
    const left = (this.totalBytes - this.received) / rate;
    const amount = `${gigabytes(this.received)} of ${gigabytes(this.totalBytes)} GB`;
    this.onProgress?.(`${this.name}: ${amount}, ${(rate / 1e6).toFixed(1)} MB/s, ${left.toFixed(0)} s left`);
  }
}

function gigabytes(bytes: number): string {
  return (bytes / 1e9).toFixed(2);
}
