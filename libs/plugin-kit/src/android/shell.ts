/** Quotes any text as one word for Android's shell (mksh). */
export function shellWord(text: string): string {
  return /^[\w./:@%+,=-]+$/.test(text) ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The result of a command on a device. */
export interface CommandReply {
  exitCode: number;
  stdout: string;
}

/** Runs one command in the device's shell. Throws if the device is disconnected or does not answer. */
export type RunCommand = (command: string) => Promise<CommandReply>;
