import { fork } from 'node:child_process';
import { availableParallelism, cpus, totalmem } from 'node:os';
import { join } from 'node:path';
import { benchDeep } from './deep';
import { benchEnvironment } from './environment';
import { benchGeneration } from './generation';
import { benchMemory } from './memory';
import { benchMessages } from './message';
import { PARTS, type BenchOptions, type PartName, type PartResult } from './parts';
import { benchPrefixes } from './prefixes';
import { benchScreenshots } from './screenshots';
import { benchTraining } from './training';

const RUN_PART: Record<PartName, (options: BenchOptions) => Promise<PartResult>> = {
  train: benchTraining,
  generate: benchGeneration,
  env: benchEnvironment,
  message: benchMessages,
  memory: benchMemory,
  deep: benchDeep,
  screenshots: benchScreenshots,
  prefixes: benchPrefixes,
};

/** The output of `--json`. */
export interface BenchReport {
  date: string;
  machine: { cores: number; processor: string; memoryBytes: number; node: string };
  /** Operations per second of a training step, relative to plain matrix products; null if not measured. */
  train_vs_matmul: number | null;
  /** Tokens per second of 64 rows, relative to one row. */
  generate_64_vs_1: number | null;
  /** Steps per second of the environment, relative to plain Playwright. */
  env_vs_playwright: number | null;
  /** Milliseconds per step in addition to the browser. */
  step_overhead_ms: number | null;
  /** Peak resident set by process. */
  peak_rss_bytes: Record<string, number>;
  details: Partial<Record<PartName, Record<string, unknown>>>;
}

/** The request to the process of a part. */
export interface PartQuestion {
  part: PartName;
  options: Omit<BenchOptions, 'onProgress'>;
}

/** Its messages: progress lines, then the report. */
export type PartMessage = { line: string } | { report: BenchReport };

/** Measures one part in this process. */
export async function runPart(part: PartName, options: BenchOptions): Promise<BenchReport> {
  return report({ [part]: await RUN_PART[part](options) });
}

/** Measures all parts, each in its own process, so that memory, threads and browsers are not shared. */
export async function runAllParts(options: BenchOptions): Promise<BenchReport> {
  const reports: BenchReport[] = [];
  for (const part of PARTS) reports.push(await inOwnProcess(part, options));
  return merged(reports);
}

function report(results: Partial<Record<PartName, PartResult>>): BenchReport {
  const all = Object.values(results);
  const empty = {
    train_vs_matmul: null,
    generate_64_vs_1: null,
    env_vs_playwright: null,
    step_overhead_ms: null,
  };
  return {
    date: new Date().toISOString(),
    machine: machine(),
    ...empty,
    ...Object.assign({}, ...all.map(({ ratios }) => ratios)),
    peak_rss_bytes: Object.assign({}, ...all.map(({ peakRssBytes }) => peakRssBytes)) as Record<
      string,
      number
    >,
    details: Object.fromEntries(Object.entries(results).map(([part, { details }]) => [part, details])),
  };
}

/** Merges the reports of single parts. */
export function merged(reports: readonly BenchReport[]): BenchReport {
  const measured = (key: 'train_vs_matmul' | 'generate_64_vs_1' | 'env_vs_playwright' | 'step_overhead_ms') =>
    reports.map((each) => each[key]).find((value) => value !== null) ?? null;
  return {
    date: reports[0].date,
    machine: reports[0].machine,
    train_vs_matmul: measured('train_vs_matmul'),
    generate_64_vs_1: measured('generate_64_vs_1'),
    env_vs_playwright: measured('env_vs_playwright'),
    step_overhead_ms: measured('step_overhead_ms'),
    peak_rss_bytes: Object.assign({}, ...reports.map((each) => each.peak_rss_bytes)) as Record<
      string,
      number
    >,
    details: Object.assign({}, ...reports.map((each) => each.details)) as BenchReport['details'],
  };
}

function machine(): BenchReport['machine'] {
  return {
    cores: availableParallelism(),
    processor: cpus()[0]?.model ?? 'unknown',
    memoryBytes: totalmem(),
    node: process.versions.node,
  };
}

function inOwnProcess(part: PartName, { onProgress, ...options }: BenchOptions): Promise<BenchReport> {
  const child = fork(join(__dirname, 'part-process.js'));
  return new Promise((resolve, reject) => {
    child.on('message', (message: PartMessage) => {
      if ('line' in message) onProgress(message.line);
      else resolve(message.report);
    });
    child.once('error', reject);
    child.once('exit', (code, signal) =>
      reject(new Error(`the benchmark ${part} ended with ${signal ?? `code ${code}`}`)),
    );
    child.send({ part, options } satisfies PartQuestion);
  });
}
