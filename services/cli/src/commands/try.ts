import { aborted, withCleanup, type EngineChoice } from '@ui-rl/api';
import { nearest } from '@ui-rl/plugin-kit';
import {
  askForChecks,
  plain,
  PROPOSAL_KINDS,
  tryPage,
  type ShownTurn,
  type TryOptions,
  type TryResult,
} from '@ui-rl/try';
import { Command, InvalidArgumentError, Option } from 'commander';
import { addEngineFlags } from '../engine-flags';
import { positiveInteger, positiveNumber, wholeNumber } from '../flags';

interface TryFlags extends EngineChoice {
  task?: string;
  root?: string;
  byHand?: boolean;
  checkpoint?: string;
  model?: string;
  config?: string;
  viewport?: { width: number; height: number };
  scale?: number;
  input?: 'mouse' | 'touch';
  allowOrigin: string[];
  seed?: number;
  turns?: number;
  storageState?: string;
  saveStorageState?: string;
  out?: string;
  checks?: string;
  live: boolean;
  keepOpen?: boolean;
  json?: boolean;
}

const SHOW_IT =
  'Does it not know your page? --by-hand shows it how and makes a task to train on; --checkpoint https://host/v1#model lets a larger one play.';

export function tryCommand(): Command {
  const command = new Command('try')
    .description('watch an agent on your own page, or record a demonstration and get a task to train on')
    .argument('<page>', 'http or https address, folder with index.html, or .html file')
    .argument('[options...]', 'any run file option as a flag, such as --environment.kind.sandbox off')
    .allowUnknownOption()
    .option('--task <sentence>', 'the goal, in one sentence (required)')
    .option('--root <folder>', 'folder that the page may read (default: its own folder)')
    .option('--by-hand', 'record a demonstration on the live page; its changes become a task with checks')
    .option(
      '--checkpoint <checkpoint>',
      "the agent: folder, uirl://<run>/sampler_weights/<step>, or endpoint of OpenAI's API (https://host/v1#model)",
    )
    .option(
      '--model <model>',
      'the agent is an untrained model: organisation/name on the hub, or a name in UIRL_MODELS (default: small)',
    )
    .option('--config <file>', 'run file with the settings of the episodes')
    .option(
      '--viewport <size>',
      'viewport in CSS pixels (default: 320x448 for the shipped model, else 1280x800)',
      viewportSize,
    )
    .option(
      '--scale <n>',
      'pixels of the screenshot per CSS pixel (default: 0.5 for the shipped model, else 1)',
      positiveNumber,
    )
    .addOption(new Option('--input <kind>', 'pointer type (default: mouse)').choices(['mouse', 'touch']))
    .option(
      '--allow-origin <origin>',
      'additional origin that the page may reach; repeatable',
      (each: string, others: string[]) => [...others, each],
      [],
    )
    .option('--turns <n>', 'maximum turns (default: rollout.max_turns)', positiveInteger)
    .option('--seed <n>', 'seed of the start state and the sampler (default: 0)', wholeNumber)
    .option('--storage-state <file>', 'storageState file of Playwright, to start logged in')
    .option(
      '--save-storage-state <file>',
      'with --by-hand: write the storage state at the end; keep the file secret, it contains the login',
    )
    .option(
      '--out <folder>',
      'write marked screenshots here, and with --by-hand the task (default: a folder named after the task)',
    )
    .option(
      '--checks <kinds>',
      `with --by-hand: checks to pick, all or some of ${PROPOSAL_KINDS.join(',')} (default: asks you)`,
    )
    .option('--no-live', 'do not serve a live page')
    .option('--keep-open', 'keep the live page open until Ctrl-C')
    .option('--json', 'print the result as JSON, all other output to standard error');
  return addEngineFlags(command).action(async (page: string, options: string[], flags: TryFlags) => {
    process.exitCode = await tryOut(page, options, flags);
  });
}

function tryOut(page: string, options: string[], { task, ...flags }: TryFlags): Promise<number> {
  if (task === undefined) throw new Error(missingTask(options));
  if (flags.checkpoint !== undefined && flags.model !== undefined)
    throw new Error('--checkpoint and --model both say who plays: leave one of them out');
  if (flags.byHand !== true) {
    const unused = [
      flags.checks === undefined ? '' : '--checks',
      flags.saveStorageState === undefined ? '' : '--save-storage-state',
    ].filter(Boolean);
    if (unused.length > 0) throw new Error(`${unused.join(' and ')} needs --by-hand`);
  }
  // With --json, standard output contains only results.
  const print = flags.json === true ? console.error : console.log;
  const terminal = { input: process.stdin, output: flags.json === true ? process.stderr : process.stdout };
  return withCleanup(async (signal) => {
    const result = await tryPage({
      ...tryOptions(page, options, { task, ...flags }),
      signal,
      onLive: (url) =>
        print(flags.byHand === true ? `play it here (this machine alone): ${url}` : `live ${url}`),
      onTurn: (turn) => print(turnText(turn)),
      onWarning: (message) => print(`warning  ${message}`),
      choose: process.stdin.isTTY ? (proposals, ends) => askForChecks(proposals, ends, terminal) : undefined,
      onEnd: async (ended) => {
        print(endText(ended));
        if (flags.keepOpen !== true) return;
        print('\nThe live page stays up. Ctrl-C ends it.');
        await aborted(signal).catch(() => undefined);
      },
    });
    if (flags.json === true) console.log(JSON.stringify(result));
    return result.status === 'invalid' ? 1 : 0;
  });
}

/** A sentence after a flag similar to --task is probably the task. */
function missingTask(options: readonly string[]): string {
  const flags = options.map((option) => option.replace(/=.*/s, '')).filter((option) => /^--./.test(option));
  const near = flags.find((flag) => nearest(flag, ['--task']).length > 0 && flag !== '--tasks');
  if (near !== undefined) return `unknown option ${near}. Did you mean --task?`;
  const hint = flags.includes('--tasks') ? '; --tasks is that of a run file' : '';
  return `option --task is missing: expected what is to be done there, --task "Put the apples into the basket"${hint}`;
}

function tryOptions(page: string, options: string[], flags: TryFlags & { task: string }): TryOptions {
  const { task, root, byHand, viewport, scale, input, seed, storageState, saveStorageState, out, checks } =
    flags;
  const { device, dtype, quantization } = flags;
  return {
    ...{
      page,
      task,
      root,
      byHand,
      viewport,
      scale,
      input,
      seed,
      storageState,
      saveStorageState,
      out,
      checks,
    },
    ...{ device, dtype, quantization },
    checkpoint: flags.checkpoint ?? flags.model,
    runFile: flags.config,
    flags: [...(flags.turns === undefined ? [] : [`--rollout.max_turns=${flags.turns}`]), ...options],
    allowedOrigins: flags.allowOrigin,
    isShown: flags.live,
  };
}

function turnText({ index, text, actions, outcome, parseError, seconds }: ShownTurn): string {
  const done = actions.map((action) => JSON.stringify(action)).join(' ');
  const head = `${String(index + 1).padStart(3)}  ${plain(done || 'no action')}  ${plain(outcome ?? parseError ?? '')}  ${seconds.toFixed(1)} s`;
  return text === null || text.trim() === done ? head : `${head}\n     answered: ${plain(text)}`;
}

function endText({ status, reason, turns, screenshots, task }: TryResult): string {
  const lines = [
    `\n${turns.length} ${turns.length === 1 ? 'turn' : 'turns'}, ${status}${reason === null ? '' : `: ${reason}`}`,
  ];
  if (screenshots.length > 0) lines.push(`${screenshots.length} screenshots, the first is ${screenshots[0]}`);
  if (task === null) return [...lines, SHOW_IT].join('\n');
  return [
    ...lines,
    `\ntask ${task.id}: it succeeds where`,
    ...task.checks.map((words) => `  ${words}`),
    'verified: passes on replay, fails without actions',
    ...task.files.map((file) => `wrote ${file}`),
    ...task.next.map(({ words, command }) => `\n${words}:\n  ${command}`),
  ].join('\n');
}

function viewportSize(text: string): { width: number; height: number } {
  const [, width, height] = /^(\d+)x(\d+)$/.exec(text.trim()) ?? [];
  if (width === undefined)
    throw new InvalidArgumentError(`expected a size such as 1280x800, found "${text}"`);
  return { width: Number(width), height: Number(height) };
}
