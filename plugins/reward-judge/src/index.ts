import { PluginError, type RewardComponent } from '@ui-rl/plugin-kit';
import { Endpoint } from './endpoint';
import { JudgeReward } from './judge';
import { keyFor } from './keys';
import { JudgeOptions, problemsOf } from './options';
import { VerdictCache } from './verdict-cache';

const judge: RewardComponent<JudgeOptions> = {
  kind: 'reward',
  name: 'judge',
  description:
    "A model behind an endpoint of OpenAI's API judges by a rubric whether the screenshots show success.",
  options: JudgeOptions,
  judgesWithoutVerifier: true,
  environment: {
    JUDGE_API_KEYS:
      'keys of endpoints that judge, https://host=key, several separated by commas; each is sent to its own host only',
    JUDGE_CACHE_DIR:
      'folder where verdicts are kept beyond the life of an actor; without it they are kept in memory',
  },
  conflicts: problemsOf,
  create(options, { environment, log }) {
    const [problem] = problemsOf(options);
    if (problem !== undefined) throw new PluginError('option', problem);
    const key = keyFor(options.base_url, environment.JUDGE_API_KEYS);
    const cache = new VerdictCache(options.cache_entries, environment.JUDGE_CACHE_DIR, log);
    return new JudgeReward(options, new Endpoint(options, key, log), cache, log);
  },
};

export const components = [judge];
