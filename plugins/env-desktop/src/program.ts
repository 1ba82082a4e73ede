import type { ChildProcess } from 'node:child_process';
import type { Readable } from 'node:stream';
import { plainLine } from './plain';

const KEPT_OUTPUT = 4_000;
const OUTPUT_SHOWN = 300;

/** How a program ended. */
export interface Ending {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** A program of a desktop. */
export class Program {
  /** Resolves when the program has ended, for any reason; never rejects. */
  readonly ended: Promise<Ending>;
  ending: Ending | null = null;
  private output = '';

  constructor(
    readonly name: string,
    readonly child: ChildProcess,
  ) {
    for (const stream of [child.stdout, child.stderr]) {
      // Decoded as a stream, since a character may be split between chunks.
      stream?.setEncoding('utf8').on('data', (text: string) => this.hear(text));
    }
    this.ended = new Promise((resolve) => {
      const end = (ending: Ending) => {
        this.ending ??= ending;
        resolve(this.ending);
      };
      child.once('error', (error) => {
        this.output += error.message;
        end({ code: 127, signal: null });
      });
      child.once('exit', (code, signal) => end({ code, signal }));
    });
  }

  get stdio(): readonly (Readable | null)[] {
    return this.child.stdio as (Readable | null)[];
  }

  /** The end of its output. */
  get said(): string {
    const line = plainLine(this.output, OUTPUT_SHOWN);
    return line === '' ? '' : `; it said: ${line}`;
  }

  /** How it ended, as text. */
  get howEnded(): string {
    const { code, signal } = this.ending ?? { code: null, signal: null };
    return `${this.name} ended ${signal === null ? `with code ${code}` : `by ${signal}`}${this.said}`;
  }

  private hear(text: string): void {
    this.output = (this.output + text).slice(-KEPT_OUTPUT);
  }
}
