import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto';

/** What compaction leaves of a conversation, besides what its user said. */
export interface Compacted {
  /** In the words of the policy. */
  summary: string;
  /** Ids of the calls that were summed up: outputs of theirs may still follow. */
  calls: readonly string[];
}

const CIPHER = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** Seals what callers carry away and bring back, so that nobody on the way reads or changes it. */
export class Seal {
  private key: Buffer | undefined;

  /** @param secret asked for when something is sealed or opened for the first time; the same one opens what it sealed */
  constructor(private readonly secret: () => string) {}

  close(compacted: Compacted): string {
    const nonce = randomBytes(NONCE_BYTES);
    const cipher = createCipheriv(CIPHER, this.keyOf(), nonce, { authTagLength: TAG_BYTES });
    const sealed = Buffer.concat([cipher.update(JSON.stringify(compacted), 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Undefined where it was sealed with another secret, or changed. */
  open(text: string): Compacted | undefined {
    const bytes = Buffer.from(text, 'base64url');
    if (bytes.length < NONCE_BYTES + TAG_BYTES) return undefined;
    const nonce = bytes.subarray(0, NONCE_BYTES);
    const decipher = createDecipheriv(CIPHER, this.keyOf(), nonce, { authTagLength: TAG_BYTES });
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    const opened = decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES));
    try {
      return JSON.parse(Buffer.concat([opened, decipher.final()]).toString('utf8')) as Compacted;
    } catch {
      return undefined;
    }
  }

  private keyOf(): Buffer {
    this.key ??= Buffer.from(hkdfSync('sha256', this.secret(), '', 'compacted conversations', 32));
    return this.key;
  }
}
