"""Advantage estimators from their papers, on a batch of groups of multi-turn episodes; in 64 bits."""

import torch
from torch import Tensor

EPSILON = 1e-6
VALUES = torch.Generator().manual_seed(12)


def make_groups() -> list[list[dict]]:
    """[group][episode]: its turns, each with a reward, the screen it began at, and log-probabilities of its tokens.

    The second group's episodes earn the same, in different numbers of turns; the third is one episode; the last has returns of
    several sizes and a turn without tokens.
    """
    torch.manual_seed(11)
    layouts = [
        [([2, 3, 1], "abc", 1.0), ([2, 2], "ab", 0.0), ([4, 1, 2, 2], "abad", 1.0), ([3], "a", 0.0)],
        [([2, 2, 2], "efg", 1.0), ([1, 2], "eg", 1.0)],
        [([3, 2], "hi", 0.5)],
        [([2, 0, 3], "jkl", 0.25), ([1, 2], "jk", 2.0), ([2, 2, 1], "jjl", -0.5)],
    ]
    return [[make_episode(*episode) for episode in layout] for layout in layouts]


def make_episode(lengths: list[int], screens: str, reward: float) -> dict:
    earned = [round(0.1 * index, 6) for index in range(len(lengths))]
    earned[-1] += reward - sum(earned)
    return {"reward": reward, "turns": [make_turn(*turn) for turn in zip(lengths, screens, earned, strict=True)]}


def make_turn(length: int, screen: str, reward: float) -> dict:
    logprobs = -2 * torch.rand(length)
    reference = logprobs - 0.8 * torch.randn(length)
    # For a critic; uses a separate random source, so that the other numbers do not change.
    values = torch.randn(length, generator=VALUES)
    return {
        "reward": reward,
        "screenshot": screen,
        "logprobs": logprobs.float().tolist(),
        "reference_logprobs": reference.float().tolist(),
        "values": values.tolist(),
    }


def returns_of(group: list[dict]) -> Tensor:
    return torch.tensor([episode["reward"] for episode in group], dtype=torch.float64)


def centred(values: Tensor, by_std: bool) -> Tensor:
    """z-scores like torch.std; zeros for a single value and for equal ones."""
    if len(values) < 2 or bool((values == values[0]).all()):
        return torch.zeros_like(values)
    deviations = values - values.mean()
    return deviations / (values.std() + EPSILON) if by_std else deviations


def spread(group: list[dict], per_episode: Tensor) -> list:
    return [
        [[number] * len(turn["logprobs"]) for turn in episode["turns"]]
        for episode, number in zip(group, per_episode.tolist(), strict=True)
    ]


def grpo(groups: list) -> list:
    return [spread(group, centred(returns_of(group), by_std=True)) for group in groups]


def dr_grpo(groups: list) -> list:
    return [spread(group, centred(returns_of(group), by_std=False)) for group in groups]


def rloo(groups: list) -> list:
    def of(group: list) -> Tensor:
        returns = returns_of(group)
        if len(returns) == 1:
            return torch.zeros(1)
        others = [torch.cat([returns[:i], returns[i + 1 :]]).mean() for i in range(len(returns))]
        return returns - torch.stack(others)

    return [spread(group, of(group)) for group in groups]


def rejection_sampling(groups: list, reward_threshold: float = 0.0, best_of_group: bool = False) -> list:
    def of(group: list) -> list:
        returns = returns_of(group)
        kept = returns > reward_threshold
        if best_of_group:
            kept &= returns == returns.max()
        rows = spread(group, torch.ones_like(returns))
        return [row if keep else None for row, keep in zip(rows, kept.tolist(), strict=True)]

    return [of(group) for group in groups]


def tokens_of(episode: dict, name: str) -> Tensor:
    return torch.tensor([value for turn in episode["turns"] for value in turn[name]], dtype=torch.float64)


def reinforce_plus_plus(
    groups: list, kl_in_reward: float = 0.01, gamma: float = 1.0, group_baseline: bool = False
) -> list:
    def returns(episode: dict, baseline: Tensor) -> Tensor:
        rewards = -kl_in_reward * (tokens_of(episode, "logprobs") - tokens_of(episode, "reference_logprobs"))
        end = 0
        for turn in episode["turns"]:
            end += len(turn["logprobs"])
            rewards[end - 1] += turn["reward"]
        rewards[-1] -= baseline
        ages = torch.arange(len(rewards))
        weights = torch.triu(gamma ** (ages[None, :] - ages[:, None]).clamp(min=0).double())
        return weights @ rewards

    zero = torch.tensor(0.0)
    per_token = [
        [returns(episode, returns_of(group).mean() if group_baseline else zero) for episode in group]
        for group in groups
    ]
    everything = torch.cat([row for rows in per_token for row in rows])
    mean, std = everything.mean(), everything.std()
    return [
        [by_turns(episode, (row - mean) / (std + 1e-8)) for episode, row in zip(group, rows, strict=True)]
        for group, rows in zip(groups, per_token, strict=True)
    ]


def distillation(groups: list, coef: float = 1.0, discount: float = 0.0, rewards: bool = False) -> list:
    """The reference log-probabilities are those of the teacher."""

    def per_turn(turn: dict, gain: Tensor) -> list:
        names = ("reference_logprobs", "logprobs")
        teacher, sampled = (torch.tensor(turn[name], dtype=torch.float64) for name in names)
        ages = torch.arange(len(sampled))
        weights = torch.triu(discount ** (ages[None, :] - ages[:, None]).clamp(min=0).double())
        return (coef * weights @ (teacher - sampled) + gain).tolist()

    zero = torch.tensor(0.0)
    return [
        [
            [per_turn(turn, own - returns_of(group).mean() if rewards else zero) for turn in episode["turns"]]
            for episode, own in zip(group, returns_of(group), strict=True)
        ]
        for group in groups
    ]


def by_turns(episode: dict, values: Tensor) -> list:
    return [part.tolist() for part in values.split([len(turn["logprobs"]) for turn in episode["turns"]])]


def gigpo(groups: list, step_weight: float = 1.0, gamma: float = 0.95, divide_by_std: bool = True) -> list:
    def of(group: list) -> list:
        whole = centred(returns_of(group), divide_by_std)
        screens = [turn["screenshot"] for episode in group for turn in episode["turns"]]
        rewards = [[turn["reward"] for turn in episode["turns"]] for episode in group]
        to_come = torch.tensor(
            [
                sum(gamma**k * reward for k, reward in enumerate(row[t:]))
                for row in rewards
                for t in range(len(row))
            ],
            dtype=torch.float64,
        )
        steps = torch.zeros_like(to_come)
        for screen in set(screens):
            same = [index for index, other in enumerate(screens) if other == screen]
            steps[same] = centred(to_come[same], divide_by_std)
        split = steps.split([len(row) for row in rewards])
        return [
            [
                [(whole[e] + step_weight * split[e][t]).item()] * len(turn["logprobs"])
                for t, turn in enumerate(episode["turns"])
            ]
            for e, episode in enumerate(group)
        ]

    return [of(group) for group in groups]


def gae(groups: list, gamma: float = 0.99, gae_lambda: float = 0.95) -> list:
    """From the sum of discounted errors instead of the recursion."""

    def of(episode: dict) -> Tensor:
        values, end = tokens_of(episode, "values"), 0
        rewards = torch.zeros_like(values)
        for turn in episode["turns"]:
            end += len(turn["values"])
            rewards[end - 1] += turn["reward"]
        errors = rewards + gamma * torch.cat([values[1:], torch.zeros(1)]) - values
        ages = torch.arange(len(errors))
        weights = torch.triu((gamma * gae_lambda) ** (ages[None, :] - ages[:, None]).clamp(min=0).double())
        return weights @ errors

    return [[by_turns(episode, of(episode)) for episode in group] for group in groups]


ESTIMATORS = {
    f.__name__: f for f in (grpo, dr_grpo, rloo, rejection_sampling, reinforce_plus_plus, gigpo, gae, distillation)
}

CASES = [
    {"name": "grpo"},
    {"name": "dr_grpo"},
    {"name": "rloo"},
    {"name": "rejection_sampling"},
    {"name": "rejection_sampling", "reward_threshold": 0.25, "best_of_group": True},
    {"name": "reinforce_plus_plus"},
    {"name": "reinforce_plus_plus", "kl_in_reward": 0.3, "gamma": 0.9, "group_baseline": True},
    {"name": "gae"},
    {"name": "gae", "gamma": 1.0, "gae_lambda": 1.0},
    {"name": "gae", "gamma": 0.8, "gae_lambda": 0.0},
    {"name": "distillation"},
    {"name": "distillation", "coef": 0.5, "discount": 0.9, "rewards": True},
    {"name": "gigpo"},
    {"name": "gigpo", "step_weight": 0.4, "gamma": 1.0, "divide_by_std": False},
]


def golden_advantages() -> dict:
    groups = make_groups()
    cases = []
    for choice in CASES:
        options = {key: value for key, value in choice.items() if key != "name"}
        cases.append({"choice": choice, "advantages": ESTIMATORS[choice["name"]](groups, **options)})
    return {"groups": groups, "cases": cases}
