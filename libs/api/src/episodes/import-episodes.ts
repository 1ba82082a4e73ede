import { dirname } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { Action, Dialect, ScreenSizes } from '@ui-rl/actions';
import { instantiate, sha256 } from '@ui-rl/bus';
import { Trajectory, type Screenshot, type StoredEpisode } from '@ui-rl/contracts';
import { planEpisodes } from '@ui-rl/episode';
import { ImageDecodingError, imageSize, toRgbPng } from '@ui-rl/image-decoding';
import type { ComponentChoice } from '@ui-rl/plugin-kit';
import { describeError } from '@ui-rl/retry';
import { readCliSettings, type LoadedRunFile } from '@ui-rl/settings';
import { modelChoice } from '../evaluate/candidate';
import { loadForModel } from '../model/action-format';
import { VisionLanguageModel } from '../model/vision-language-model';
import { ASSUMED } from '../run/assumed';
import type { Demonstration, DemonstrationStep } from './demonstration';
import { ImportReport, type ImportedFile } from './import-report';
import { replay, type ReplayContext, type SpokenStep } from './replay';
import { readAgentNet } from './readers/agentnet';
import { readAguvis } from './readers/aguvis';
import { AnswerReader } from './readers/answer-reader';
import { readAtif } from './readers/atif';
import { readChat } from './readers/chat';
import { readPlaywright } from './readers/playwright';
import { ImageFiles } from './readers/image-files';
import { ImportError } from './readers/json-place';
import type { Reader } from './readers/reader';
import { OutputFile } from './writers/output-file';

const READERS = {
  chat: readChat,
  atif: readAtif,
  playwright: readPlaywright,
  agentnet: readAgentNet,
  aguvis: readAguvis,
} satisfies Record<string, Reader>;

export type ImportFormat = keyof typeof READERS;
export const IMPORT_FORMATS = Object.keys(READERS) as ImportFormat[];

export interface ImportEpisodesOptions {
  /** File to read; for some formats also a folder. */
  path: string;
  from: ImportFormat;
  /** File of stored episodes to write; an existing one is replaced. */
  out: string;
  /** Run file of the run that will train on the episodes: its model, prompt and action format. */
  runFile?: string | undefined;
  /** Further options of a run file, as on the command line. */
  flags?: readonly string[];
  /** Action format of the answers in the file, with its options. Default: that of the run. */
  actions?: ComponentChoice | undefined;
  /** The goal in words, for files that do not say it. */
  goal?: string | undefined;
  /** Folder of the screenshots. Default: the folder of the file. */
  images?: string | undefined;
  workingDir?: string | undefined;
  signal?: AbortSignal | undefined;
  onWarning?: ((message: string) => void) | undefined;
  /** Called with the number of episodes written. */
  onProgress?: ((episodes: number) => void) | undefined;
}

/** The screenshots of an episode are in memory, and become one line. */
const MAX_EPISODE_BYTES = 256 * 2 ** 20;

/**
 * Converts trajectories of another format to stored episodes for `training.warm_start`, by the renderer and the action
 * format of a run's model. Writes nothing if the file has a fault.
 *
 * @throws ImportError that names the place of a fault in the file
 */
export async function importEpisodes(options: ImportEpisodesOptions): Promise<ImportedFile> {
  const { path, from, out, workingDir, flags = [], runFile, signal, onWarning = () => undefined } = options;
  const loaded = await loadForModel({
    ...(runFile === undefined ? { options: {} } : { file: runFile }),
    ...{ flags: [...flags], assumed: ASSUMED, models: Object.keys(readCliSettings().models), workingDir },
  });
  const { run } = loaded;
  const { model: name, ...weights } = modelChoice(run.model.name, readCliSettings(), workingDir);
  const model = await VisionLanguageModel.load(name, {
    ...weights,
    device: 'cpu',
    signal,
    onProgress: onWarning,
  });
  const planned = await planEpisodes(run, loaded.registry, (_level, message) => onWarning(message));
  const file = await OutputFile.create(out);
  try {
    const importer = new Importer(await dialectOf(loaded, run.model.action_format), {
      ...{ plan: { ...planned.plan, temperature: 1 }, model, maxSequence: run.model.max_sequence },
      signal: signal ?? new AbortController().signal,
    });
    const format = options.actions ?? run.model.action_format;
    const context = {
      answers: new AnswerReader(await dialectOf(loaded, format)),
      images: new ImageFiles(options.images, dirname(path)),
      goal: options.goal,
    };
    for await (const demonstration of READERS[from](path, context)) {
      signal?.throwIfAborted();
      const line = await importer.convert(demonstration);
      if (line === undefined) continue;
      await file.appendLine(line);
      options.onProgress?.(importer.report.episodes);
    }
    const report = importer.report.file(out, file.bytes);
    await file.finish();
    return report;
  } catch (error) {
    await file.discard();
    throw error;
  } finally {
    await planned.close();
    await model.stop();
  }
}

async function dialectOf({ registry }: LoadedRunFile, choice: ComponentChoice): Promise<Dialect> {
  return registry.create('action-dialect', choice, {});
}

/** Converts demonstrations one by one, and counts what it had to leave out. */
class Importer {
  readonly report = new ImportReport();

  constructor(
    private readonly dialect: Dialect,
    private readonly context: ReplayContext,
  ) {}

  /** Undefined if no step can be expressed. */
  async convert(demonstration: Demonstration): Promise<StoredEpisode | undefined> {
    const { id, record, leftOut = new Map<string, number>() } = demonstration;
    for (const [reason, count] of leftOut) this.report.leaveOut(reason, demonstration.place, count);
    const steps: SpokenStep[] = [];
    let bytes = 0;
    for (const step of demonstration.steps) {
      const screenshot = await screenshotOf(step);
      bytes += screenshot.png.byteLength;
      if (bytes > MAX_EPISODE_BYTES)
        throw new ImportError(
          step.place,
          `the screenshots of ${id} have more than ${MAX_EPISODE_BYTES} bytes`,
        );
      const spoken = await this.speak(step, screenshot);
      if ('text' in spoken) steps.push(spoken);
      else this.report.leaveOut(spoken.leftOut, exampleOf(step.place, spoken.detail));
    }
    if (steps.length === 0) return this.report.drop('no step could be expressed', demonstration.place);
    const rolloutId = record?.rollout_id ?? `import-${String(this.report.read).padStart(6, '0')}`;
    return this.stored(demonstration, steps, rolloutId);
  }

  private async stored(
    demonstration: Demonstration,
    steps: readonly SpokenStep[],
    rolloutId: string,
  ): Promise<StoredEpisode | undefined> {
    const { trajectory, screenshots } = await replay(demonstration, steps, rolloutId, this.context).catch(
      (cause: unknown) => {
        throw new ImportError(demonstration.place, describeError(cause), { cause });
      },
    );
    if (trajectory.status === 'invalid')
      return this.report.drop(trajectory.invalidReason ?? 'invalid', demonstration.place);
    if (trajectory.turns.length < steps.length) {
      const reason = 'steps beyond rollout.max_turns or model.max_sequence';
      this.report.leaveOut(reason, demonstration.place, steps.length - trajectory.turns.length);
    }
    // As for a goal that is too long. The warm start would refuse the file.
    const read = instantiate(trajectory, Trajectory);
    if (!read.ok) return this.report.drop(read.reason, demonstration.place);
    const images = this.report.add(trajectory);
    const line: StoredEpisode = { trajectory };
    const base64 = (hash: string) => Buffer.from(screenshots.png(hash)).toString('base64');
    if (images.length > 0) line.images = Object.fromEntries(images.map((hash) => [hash, base64(hash)]));
    return line;
  }

  /** The step as the model says it, or why it cannot say it. */
  private async speak(step: DemonstrationStep, screenshot: Screenshot): Promise<SpokenStep | Unspoken> {
    const size = { width: screenshot.width, height: screenshot.height };
    const isShown = screenshot.textOnly !== true;
    const sizes = {
      screenshot: size,
      modelImage: isShown ? await this.context.model.modelImage(size) : size,
    };
    const reading = step.read(size);
    if (!reading.ok) return { leftOut: reading.reason, detail: reading.detail };
    const { text, sampled, recorded } = step;
    const rest = { screenshot, recorded };
    if (text !== undefined && says(this.dialect, text, sizes, reading.actions))
      return { ...rest, text, sampled };
    try {
      return { ...rest, text: this.dialect.format(reading.actions, sizes) };
    } catch (error) {
      const names = reading.actions.map(({ action }) => action).join(', ');
      if (error instanceof RangeError)
        return { leftOut: `${names}: not in the run's action format`, detail: error.message };
      throw error;
    }
  }
}

function exampleOf(place: string, detail: string | undefined): string {
  return detail === undefined ? place : `${place}: ${detail}`;
}

interface Unspoken {
  leftOut: string;
  detail?: string | undefined;
}

/**
 * Whether the run's action format reads the executed actions from a text. A recorded answer without actions, which
 * could not be parsed, still cannot be.
 */
function says(dialect: Dialect, text: string, sizes: ScreenSizes, executed: readonly Action[]): boolean {
  const parsed = dialect.parse(text, sizes);
  if (!parsed.ok || executed.length === 0) return !parsed.ok && executed.length === 0;
  return isDeepStrictEqual(parsed.actions.slice(0, executed.length), [...executed]);
}

async function screenshotOf({ image, screen, place }: DemonstrationStep): Promise<Screenshot> {
  const encoded = await image();
  try {
    const png = await toRgbPng(encoded);
    return { png, sha256: sha256(png), ...(await imageSize(png)), ...screen };
  } catch (error) {
    if (error instanceof ImageDecodingError) throw new ImportError(place, error.message, { cause: error });
    throw error;
  }
}
