import { Controller, Delete, Get, Header, Inject, Param, Query, StreamableFile } from '@nestjs/common';
import { isRecord, verify } from '@ui-rl/plugin-kit';
import type { ServedEpisode } from './episode';
import { ServedEpisodes } from './episodes';
import { actionOf, delayOf, type ActQuery } from './ui-verifiers-action';
import { readWish, type Wish } from './wish';

/** Id of the server's root session. */
const ONLY = '(ui-verifiers)';

/**
 * The API of ui-verifiers servers: one session at the root, others below `/proxy/{session}`. A session starts with
 * its first request (whose `seed` and `task_id` select the task), and ends when it is deleted or idle for too long.
 */
@Controller()
export class UiVerifiersController {
  constructor(@Inject(ServedEpisodes) private readonly episodes: ServedEpisodes) {}

  /** Health check, with the start time of its session. */
  @Get(['/', 'proxy/:session'])
  @Header('Content-Type', 'text/plain; charset=utf-8')
  async greet(@Param('session') session: string | undefined, @Query() query: ActQuery): Promise<string> {
    const { startedAt, task } = await this.session(session, query, true);
    const seconds = ((Date.now() - startedAt.getTime()) / 1000).toFixed(1);
    return [
      'UI Verifiers Session Server',
      `Session Type: ${this.episodes.world.sessionTypeOf(task)}`,
      `Task: ${task.id}`,
      `Start time: ${startedAt.toISOString()}`,
      `Duration: ${seconds} s`,
      '',
    ].join('\n');
  }

  /** Executes an action and returns the screen `delay` seconds later: PNG. */
  @Get(['act', 'proxy/:session/act'])
  @Header('Content-Type', 'image/png')
  async act(
    @Param('session') session: string | undefined,
    @Query() query: ActQuery,
  ): Promise<StreamableFile> {
    const action = actionOf(query);
    const delay = delayOf(query);
    const episode = await this.session(session, query);
    if (action === null) return new StreamableFile((await episode.look(0)).png);
    await episode.act(action);
    const { png } = delay > 0 ? await episode.look(delay) : episode.screenshot;
    return new StreamableFile(png);
  }

  /**
   * The submissions: `submitted_row_indices` and `num_incorrect_submissions` of the environment's state. A task whose
   * state has neither counts as one row, which is submitted while its checks hold.
   */
  @Get(['progress', 'proxy/:session/progress'])
  async progress(@Param('session') session: string | undefined, @Query() query: ActQuery): Promise<object> {
    const episode = await this.session(session, query);
    const state = await episode.state();
    if (isRecord(state) && Array.isArray(state.submitted_row_indices)) {
      const { submitted_row_indices: rows, num_incorrect_submissions: incorrect = 0 } = state;
      return { submitted_row_indices: rows, num_incorrect_submissions: incorrect };
    }
    const isDone = verify(episode.task.checks, state) === true;
    return { submitted_row_indices: isDone ? [0] : [], num_incorrect_submissions: 0 };
  }

  /** Ends a session; the next request starts another one. */
  @Delete(['/', 'proxy/:session'])
  async end(@Param('session') session: string | undefined): Promise<object> {
    return { deleted: await this.episodes.end(idOf(session)) };
  }

  /** @param anew whether a failed one is replaced by another: a client that receives its start time can tell */
  private session(session: string | undefined, query: ActQuery, anew = false): Promise<ServedEpisode> {
    return this.episodes.orBegin(idOf(session), wishOf(query), anew);
  }
}

function idOf(session: string | undefined): string {
  return session === undefined ? ONLY : `proxy/${session}`;
}

/** Query values are texts; a session without a seed has that of the first task. */
function wishOf({ seed = '0', task_id: taskId }: ActQuery): Wish {
  return readWish({ seed: Number(seed), task_id: taskId });
}
