/** PostgreSQL's own limit on a message. */
const MAX_MESSAGE_BYTES = 2 ** 30;
/** PostgreSQL's own limit on a message before the connection is open. */
const MAX_STARTUP_BYTES = 10_000;

const PROTOCOL_3 = 3;
const [SSL_REQUEST, GSS_REQUEST] = [80_877_103, 80_877_104];

/** Query, Sync, Flush: the server answers after these. */
const ENDS = 'QSH';
const TERMINATE = 'X';

export interface ReadMessages {
  /** Complete messages, up to one that the server answers. */
  units: Uint8Array[][];
  /** Answers that need no database. */
  answers: Uint8Array[];
}

/** Splits what a client sends in PostgreSQL's protocol (version 3) into messages. */
export class FrontendReader {
  /** Whether the client ends the connection. */
  isEnded = false;
  private isOpen = false;
  private chunks: Buffer[] = [];
  private size = 0;
  private wanted = 0;
  private unit: Uint8Array[] = [];

  /** @throws Error if the data is not a message of the protocol */
  read(data: Buffer): ReadMessages {
    const result: ReadMessages = { units: [], answers: [] };
    this.chunks.push(data);
    this.size += data.length;
    while (!this.isEnded && this.size > 0 && this.size >= this.wanted) {
      const all = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks, this.size);
      this.wanted = this.isOpen ? lengthOf(all) : startupLengthOf(all);
      const message = all.subarray(0, this.wanted);
      this.chunks = [all];
      if (this.size < this.wanted) break;
      this.chunks = [all.subarray(this.wanted)];
      this.size -= this.wanted;
      this.wanted = 0;
      if (this.isOpen) this.take(message, result);
      else this.open(message, result);
    }
    return result;
  }

  private take(message: Buffer, { units }: ReadMessages): void {
    const type = String.fromCharCode(message[0]);
    if (type === TERMINATE) {
      this.isEnded = true;
      return;
    }
    this.unit.push(message);
    if (!ENDS.includes(type)) return;
    units.push(this.unit);
    this.unit = [];
  }

  private open(message: Buffer, { units, answers }: ReadMessages): void {
    const code = message.readInt32BE(4);
    if (code === SSL_REQUEST || code === GSS_REQUEST) answers.push(Buffer.from('N'));
    else if (code >> 16 === PROTOCOL_3) {
      this.isOpen = true;
      units.push([message]);
    }
    // A request to cancel a statement comes on a separate connection; PGlite cannot cancel.
    else this.isEnded = true;
  }
}

/** The length of the first message, or the number of bytes that are needed to know it. */
function lengthOf(data: Buffer): number {
  if (data.length < 5) return 5;
  return 1 + bounded(data.readInt32BE(1), 4, MAX_MESSAGE_BYTES);
}

function startupLengthOf(data: Buffer): number {
  return data.length < 8 ? 8 : bounded(data.readInt32BE(0), 8, MAX_STARTUP_BYTES);
}

function bounded(length: number, least: number, most: number): number {
  if (length >= least && length <= most) return length;
  throw new Error(`a message of ${length} bytes: expected ${least} to ${most}`);
}
