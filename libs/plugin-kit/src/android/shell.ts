/** A word as Android's shell (mksh) reads it, whatever is in it. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** What a command on a device left. */
export interface CommandReply {
  exitCode: number;
  stdout: string;
}

/** Runs one command in the device's shell. Throws where the device is gone or does not answer. */
export type RunCommand = (command: string) => Promise<CommandReply>;
