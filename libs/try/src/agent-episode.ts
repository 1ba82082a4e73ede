import { type EpisodeResult, namedCandidates, openCandidate, Player } from '@ui-rl/api';
import { groupOfOne, samplingSeed, type RolloutRequest, type Turn } from '@ui-rl/contracts';
import type { TryOptions } from './options';
import type { TrySetup } from './setup';
import type { LiveView, ShownTurn } from './view';

const NAME = 'try';

/** Has a policy play one episode, and shows each turn when it ends. */
export async function playByAgent(
  setup: TrySetup,
  options: TryOptions,
  live: LiveView,
): Promise<EpisodeResult> {
  const { signal, onWarning = () => undefined, device, dtype, quantization, workingDir } = options;
  const [named] = namedCandidates([setup.checkpoint]);
  const candidate = await openCandidate(named, setup.loaded.run, {
    ...{ signal, onWarning, device, dtype, quantization, workingDir },
  });
  let player: Player | undefined;
  try {
    const tell = (turn: Turn): void => {
      const shown = shownTurn(turn);
      // A restarted episode discards its earlier turns.
      live.update({ turns: [...live.view.turns.slice(0, turn.index), shown] });
      options.onTurn?.(shown);
    };
    player = await Player.create(setup.loaded, {
      ...{ policy: candidate.policy, actors: 1, signal, onWarning, variables: setup.variables },
      onTurn: tell,
      onScreenshot: (png, sha256) => {
        live.update({ phase: 'playing' });
        live.addScreenshot(png, sha256);
      },
    });
    return await player.play(requestOf(setup));
  } finally {
    await player?.close();
    await candidate.close();
  }
}

function requestOf({ task, seed, checkpoint }: TrySetup): RolloutRequest {
  return {
    ...groupOfOne(NAME),
    runId: NAME,
    purpose: 'eval',
    task,
    seed,
    samplingSeed: samplingSeed(seed, NAME, task.id),
    policy: checkpoint,
  };
}

function shownTurn({
  index,
  screenshot,
  text,
  actions,
  outcome,
  parseError,
  policyMs,
  envMs,
}: Turn): ShownTurn {
  return {
    ...{ index, screenshot, text, actions },
    outcome: actions.length === 0 ? null : (outcome ?? null),
    parseError: parseError ?? null,
    seconds: (policyMs + envMs) / 1000,
  };
}
