import type {
  ComponentChoice,
  Episode,
  EpisodeTurn,
  JudgedEpisode,
  Observation,
  ScreenSizes,
} from '@ui-rl/plugin-kit';

/** Kinds of components that play and judge episodes. */
export type IsolatedKind = 'verifier' | 'reward' | 'action-dialect';

/** The start data of a thread. */
export interface ThreadData {
  /** Module of the component. */
  file: string;
  kind: IsolatedKind;
  choice: ComponentChoice;
  /** Values of the variables that it declares. */
  environment?: Readonly<Record<string, string>>;
}

type Sent<T extends { observation: Observation }> = Omit<T, 'observation'> & { observation: SentObservation };
export type SentObservation = Omit<Observation, 'png'>;

/** An episode without its screenshots, which are fetched on demand. */
export type SentEpisode = Omit<JudgedEpisode, 'turns' | 'finalObservation' | 'success'> & {
  turns: Sent<EpisodeTurn>[];
  finalObservation: SentObservation;
  success?: boolean | null;
};

/** A call of a component. */
export type Question =
  | { method: 'score' | 'verify'; episode: SentEpisode }
  | { method: 'describe' | 'grammar'; sizes: ScreenSizes }
  | { method: 'parse'; text: string; sizes: ScreenSizes };

export type ToThread =
  | { type: 'call'; id: number; question: Question; deadlineAt: number }
  | { type: 'abort'; id: number }
  | { type: 'png'; id: number; png?: Uint8Array; error?: string };

export type FromThread =
  | { type: 'ready' }
  | { type: 'refused'; category?: string; message: string }
  | { type: 'result'; id: number; value: unknown }
  | { type: 'failed'; id: number; message: string }
  | { type: 'wants'; id: number; call: number; sha256: string }
  | { type: 'log'; level: 'debug' | 'info' | 'warn' | 'error'; message: string };

export function withoutScreenshots(episode: Episode | JudgedEpisode): SentEpisode {
  return {
    ...episode,
    turns: episode.turns.map((turn) => ({ ...turn, observation: sent(turn.observation) })),
    finalObservation: sent(episode.finalObservation),
  };
}

function sent({ sha256, width, height, text }: Observation): SentObservation {
  return { sha256, width, height, text };
}

/** @param png fetches a screenshot by its hash */
export function withScreenshots(
  episode: SentEpisode,
  png: (sha256: string) => Promise<Uint8Array>,
): JudgedEpisode {
  const shown = (observation: SentObservation): Observation => ({
    ...observation,
    png: () => png(observation.sha256),
  });
  return {
    ...episode,
    success: episode.success ?? null,
    turns: episode.turns.map((turn) => ({ ...turn, observation: shown(turn.observation) })),
    finalObservation: shown(episode.finalObservation),
  };
}

/** The screenshots of an episode, by hash. */
export function observationsOf(episode: Episode): Map<string, Observation> {
  const all = [...episode.turns.map(({ observation }) => observation), episode.finalObservation];
  return new Map(all.map((observation) => [observation.sha256, observation]));
}
