import { availableParallelism, freemem, hostname, loadavg, totalmem } from 'node:os';
import type { ProcessStatus } from '@ui-rl/contracts';
import { logTail } from './log-tail';

const SAMPLE_MS = 5_000;

/** Measures this process and its machine until it is stopped. */
export class ProcessMeter {
  private cpu = process.cpuUsage();
  private at = performance.now();
  private cpuCores = 0;
  private readonly timer = setInterval(() => this.sample(), SAMPLE_MS).unref();

  read(): ProcessStatus {
    // Until the first interval is over.
    if (this.cpuCores === 0) this.sample();
    return {
      host: hostname(),
      pid: process.pid,
      uptimeSeconds: Math.round(process.uptime()),
      cpuCores: this.cpuCores,
      memoryBytes: process.memoryUsage.rss(),
      machineCores: availableParallelism(),
      machineLoad: loadavg()[0],
      machineMemoryBytes: totalmem(),
      machineFreeBytes: freemem(),
      log: logTail.read(),
    };
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private sample(): void {
    const { user, system } = process.cpuUsage(this.cpu);
    const milliseconds = performance.now() - this.at;
    if (milliseconds < 100) return;
    this.cpuCores = Math.round((user + system) / milliseconds / 10) / 100;
    this.cpu = process.cpuUsage();
    this.at = performance.now();
  }
}
