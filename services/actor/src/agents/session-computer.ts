import { systemText } from '@ui-rl/actions';
import type { ImageSize } from '@ui-rl/contracts';
import { describeActions, readAnswer, type Clock, type EpisodePlan, type Policy } from '@ui-rl/episode';
import { ApiError, type ComputerUse } from '@ui-rl/openai-api';

/** Operates screens in the action format of the run, like an actor. */
export function sessionComputer(plan: EpisodePlan, policy: Policy, clock: Clock): ComputerUse {
  const turn = () => clock.part('a call of the action dialect', plan.turnTimeoutMs);
  const sizesOf = async (screenshot: ImageSize) => ({
    screenshot,
    modelImage: await policy.modelImage(screenshot, turn()),
  });
  return {
    instructions: async (screenshot) => {
      if (plan.promptStyle === 'compact') return null;
      const described = await describeActions(plan.dialect, await sizesOf(screenshot), turn());
      return systemText(plan.promptStyle, () => described);
    },
    read: async (text, screenshot) => readAnswer(plan.dialect, text, await sizesOf(screenshot), turn()),
    write: () => {
      throw new ApiError(400, 'a session cannot continue from a computer call of another conversation');
    },
  };
}
