import { closeSync, openSync, readSync, writeSync } from 'node:fs';

/**
 * Stores the number of the current input in a file, where it can be read while the process hangs, and after it has
 * crashed. Written before each input, which takes microseconds.
 */
export class Place {
  private readonly bytes = Buffer.alloc(8);
  private readonly file: number;

  constructor(path: string, flags: 'w+' | 'r') {
    this.file = openSync(path, flags);
  }

  /** @param order number of the process's current order */
  write(order: number, at: number): void {
    this.bytes.writeUInt32LE(order, 0);
    this.bytes.writeUInt32LE(at, 4);
    writeSync(this.file, this.bytes, 0, 8, 0);
  }

  read(): { order: number; at: number } {
    readSync(this.file, this.bytes, 0, 8, 0);
    return { order: this.bytes.readUInt32LE(0), at: this.bytes.readUInt32LE(4) };
  }

  close(): void {
    closeSync(this.file);
  }
}
