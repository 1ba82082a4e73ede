import { readFileSync } from 'node:fs';

export interface Instruction {
  /** `FROM`, `RUN` … */
  name: string;
  text: string;
}

/** One `FROM … AS name` with its instructions. */
export interface Stage {
  name: string;
  base: string;
  instructions: Instruction[];
}

/** The stages of a Containerfile by name; handles comments and continued lines like image builders. */
export function readStages(file: string): Map<string, Stage> {
  const lines = readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => !line.trimStart().startsWith('#'))
    .join('\n')
    .replaceAll(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  for (const line of lines) {
    const [, name, text] = /^(\S+)\s+(.*)$/.exec(line)!;
    if (name === 'FROM') {
      const [, base, as] = /^(\S+) AS (\S+)$/.exec(text)!;
      stage = { name: as, base, instructions: [] };
      stages.set(as, stage);
    } else stage?.instructions.push({ name, text: text.replaceAll(/\s+/g, ' ') });
  }
  return stages;
}

/** The instructions of an image, including those of its base stages. */
export function instructionsOf(stages: Map<string, Stage>, name: string): Instruction[] {
  const stage = stages.get(name);
  return stage === undefined ? [] : [...instructionsOf(stages, stage.base), ...stage.instructions];
}

/** The last instruction of a kind applies. */
export function lastOf(instructions: readonly Instruction[], name: string): string | undefined {
  return instructions.findLast((instruction) => instruction.name === name)?.text;
}

/** `ENV a=b c=d` of an image. */
export function environmentOf(instructions: readonly Instruction[]): Record<string, string> {
  const pairs = instructions
    .filter(({ name }) => name === 'ENV')
    .flatMap(({ text }) => text.split(' '))
    .map((pair) => pair.split('=') as [string, string]);
  return Object.fromEntries(pairs);
}
