import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { ACTION_NAMES, actionMeaning, actionParameters } from '@ui-rl/actions';
import type { Trajectory, Turn } from '@ui-rl/contracts';
import { goalOf } from '@ui-rl/episode';
import { correctionOf } from './correction';
import { recordOf } from '../episode-record';
import type { EpisodeWriter, ImageOf } from './writer';

export const ATIF_VERSION = 'ATIF-v1.8';
const IMAGES = 'images';

/**
 * Writes a folder of ATIF trajectories (Harbor's Agent Trajectory Interchange Format): `<rollout>.trajectory.json`
 * with paths of screenshots in `images/`.
 */
export class AtifWriter implements EpisodeWriter {
  bytes = 0;
  private readonly known = new Set<string>();

  private constructor(
    private readonly out: string,
    private readonly writing: string,
    private readonly imageOf: ImageOf,
  ) {}

  /** @throws Error if the folder exists */
  static async create(path: string, imageOf: ImageOf): Promise<AtifWriter> {
    const out = resolve(path);
    if (existsSync(out)) throw new Error(`${path} exists: expected a folder to create for ATIF trajectories`);
    await mkdir(dirname(out), { recursive: true });
    const writing = await mkdtemp(`${out}.writing-`);
    await mkdir(join(writing, IMAGES));
    return new AtifWriter(out, writing, imageOf);
  }

  get images(): number {
    return this.known.size;
  }

  async write(trajectory: Trajectory): Promise<void> {
    const { request, turns, finalScreenshot, initialState = null } = trajectory;
    const goal = goalOf(request.task, initialState);
    const shown = turns.map(({ screenshot }) => screenshot);
    const [first] = shown;
    const steps: object[] = [
      {
        step_id: 1,
        source: 'user',
        message: first === undefined ? goal : [text(goal), await this.image(first)],
      },
    ];
    for (const [index, turn] of turns.entries()) {
      const next = shown[index + 1] ?? finalScreenshot;
      // The last screenshot of an episode is not part of a prompt: a source may have lost it.
      const after = next === undefined ? undefined : await this.image(next).catch(() => undefined);
      steps.push(agentStep(turn, steps.length + 1, after));
    }
    await this.save(
      `${request.rolloutId}.trajectory.json`,
      JSON.stringify(document(trajectory, steps), null, 1),
    );
  }

  async finish(): Promise<void> {
    await rename(this.writing, this.out);
  }

  async discard(): Promise<void> {
    await rm(this.writing, { recursive: true, force: true });
  }

  private async image(sha256: string): Promise<object> {
    const path = `${IMAGES}/${sha256}.png`;
    if (!this.known.has(sha256)) {
      await this.save(path, await this.imageOf(sha256));
      this.known.add(sha256);
    }
    return { type: 'image', source: { media_type: 'image/png', path } };
  }

  private async save(name: string, content: string | Uint8Array): Promise<void> {
    await writeFile(join(this.writing, name), content);
    this.bytes += Buffer.byteLength(content);
  }
}

function text(value: string): object {
  return { type: 'text', text: value };
}

function document(trajectory: Trajectory, steps: object[]): object {
  const { request, turns, success, reward } = trajectory;
  const [turn] = turns;
  return {
    schema_version: ATIF_VERSION,
    session_id: request.runId,
    trajectory_id: request.rolloutId,
    agent: {
      name: 'ui-rl',
      version: String(turn?.policyVersion ?? 0),
      tool_definitions: toolDefinitions(),
      ...(turn === undefined ? {} : { extra: { adapter_digest: turn.adapterDigest } }),
    },
    steps,
    final_metrics: {
      total_prompt_tokens: turns.reduce((sum, { promptTokenIds }) => sum + promptTokenIds.length, 0),
      total_completion_tokens: turns.reduce((sum, { tokenIds }) => sum + tokenIds.length, 0),
      total_steps: steps.length,
      extra: { reward, success: success ?? null },
    },
    extra: { ui_rl: recordOf(trajectory) },
  };
}

/** The actions as OpenAI's function tools. */
function toolDefinitions(): object[] {
  return ACTION_NAMES.map((name) => ({
    type: 'function',
    function: { name, description: actionMeaning(name), parameters: actionParameters(name) },
  }));
}

function agentStep(turn: Turn, id: number, after: object | undefined): object {
  const calls = turn.actions.map(({ action, ...parameters }, index) => ({
    tool_call_id: `call_${turn.index}_${index}`,
    function_name: String(action),
    arguments: parameters,
  }));
  const said = [correctionOf(turn) ?? turn.outcome].flatMap((each) =>
    each === undefined ? [] : [text(each)],
  );
  const content = [...said, ...(after === undefined ? [] : [after])];
  const call = calls.at(-1)?.tool_call_id;
  return {
    step_id: id,
    source: 'agent',
    message: turn.text,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...(content.length === 0 ? {} : { observation: { results: [{ source_call_id: call, content }] } }),
    metrics: {
      prompt_tokens: turn.promptTokenIds.length,
      completion_tokens: turn.tokenIds.length,
      prompt_token_ids: turn.promptTokenIds,
      completion_token_ids: turn.tokenIds,
      logprobs: turn.logprobs,
    },
    llm_call_count: 1,
  };
}
