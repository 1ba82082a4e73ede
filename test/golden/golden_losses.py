"""Policy losses from their papers, on the tokens of a training pass; gradients by autograd in 64 bits."""

import torch
from torch import Tensor

# Number of tokens of each datum, and its sequence.
DATA = [(2, "a"), (3, "b"), (2, "b"), (5, "c"), (1, "d"), (4, "e"), (3, "f"), (4, "f")]
# The chosen and the rejected sequence of each pair.
PAIRS = [("a", "b"), ("d", "c"), ("e", "f")]
SEQUENCES = sorted({sequence for _, sequence in DATA})


def make_tokens() -> dict[str, Tensor]:
    """Numbers that 32 bits represent exactly; ratios from 1/30 to 30, some of them 1, some advantages 0."""
    torch.manual_seed(7)
    count = sum(length for length, _ in DATA)
    logprobs = -3 * torch.rand(count) - 0.01
    drift = 0.5 * torch.randn(count)
    drift[3], drift[9], drift[10], drift[11], drift[19], drift[21] = 0.0, 3.4, 2.1, -1.5, -3.4, 0.24
    # The sequences d and e have small changes: within the clip range of gspo, and just beyond.
    of_d, of_e = places("d"), places("e")
    drift[of_d] = 1e-4
    drift[of_e] = torch.tensor([2e-3, -1e-3, 1e-3, 4e-4])
    advantages = torch.randn(count)
    advantages[5], advantages[6] = 0.0, 0.0
    advantages[10], advantages[11], advantages[19], advantages[21] = -0.9, -1.3, 0.8, 1.1
    tokens = {
        "logprobs": logprobs,
        "entropy": 2 * torch.rand(count),
        "advantages": advantages,
        "old_logprobs": logprobs - drift,
        "sample_logprobs": torch.clamp(logprobs - drift + 0.3 * torch.randn(count), max=-0.003),
        "reference_logprobs": torch.clamp(logprobs + 0.7 * torch.randn(count), max=-0.002),
        "weights": 0.02 + 0.1 * torch.rand(count),
    }
    return {name: values.float().double() for name, values in tokens.items()}


def places(sequence: str) -> list[int]:
    owners = [owner for length, owner in DATA for _ in range(length)]
    return [index for index, owner in enumerate(owners) if owner == sequence]


def importance_sampling(t: dict) -> Tensor:
    return -(t["logprobs"] - t["old_logprobs"]).exp() * t["advantages"]


def surrogate(ratio: Tensor, advantages: Tensor, low: float, high: float, dual: float | None = None) -> Tensor:
    loss = torch.maximum(-ratio * advantages, -ratio.clamp(1 - low, 1 + high) * advantages)
    if dual is None:
        return loss
    return torch.where(advantages < 0, torch.minimum(loss, -dual * advantages), loss)


def ppo(t: dict, clip_low: float = 0.2, clip_high: float = 0.2, dual_clip: float | None = None) -> Tensor:
    ratio = (t["logprobs"] - t["old_logprobs"]).exp()
    return surrogate(ratio, t["advantages"], clip_low, clip_high, dual_clip)


def cispo(t: dict, ratio_low: float = 0.0, ratio_high: float = 4.0) -> Tensor:
    weight = (t["logprobs"] - t["old_logprobs"]).exp().clamp(ratio_low, ratio_high).detach()
    return -weight * t["advantages"] * t["logprobs"]


def gspo(t: dict, clip_low: float = 3e-4, clip_high: float = 4e-4) -> Tensor:
    ratio = per_sequence(t["logprobs"] - t["old_logprobs"]).exp()
    return surrogate(ratio, per_sequence(t["advantages"]), clip_low, clip_high)


def dro(t: dict, beta: float = 0.05) -> Tensor:
    return -(t["logprobs"] * t["advantages"] - 0.5 * beta * (t["logprobs"] - t["old_logprobs"]) ** 2)


def dppo(
    t: dict, divergence: str = "tv", delta_low: float | None = None, delta_high: float | None = None
) -> Tensor:
    usual = {"tv": 0.15, "kl": 0.05}[divergence]
    p, q = t["sample_logprobs"].exp(), t["logprobs"].detach().exp()
    if divergence == "tv":
        distance = (p - q).abs()
    else:
        two = lambda chosen: torch.distributions.Bernoulli(probs=chosen)
        distance = torch.distributions.kl_divergence(two(p), two(q))
    a = t["advantages"]
    too_high = (a > 0) & (q > p) & (distance > (usual if delta_high is None else delta_high))
    too_low = (a < 0) & (q < p) & (distance > (usual if delta_low is None else delta_low))
    mask = (~(too_high | too_low)).double()
    return -mask * (t["logprobs"] - t["sample_logprobs"]).exp() * a


def dpo(t: dict, beta: float = 0.1, nll_coef: float = 0.0) -> Tensor:
    gained = t["logprobs"] - t["reference_logprobs"]
    margins = [gained[places(chosen)].sum() - gained[places(rejected)].sum() for chosen, rejected in PAIRS]
    imitated = torch.stack([-t["logprobs"][places(chosen)].mean() for chosen, _ in PAIRS])
    return -torch.nn.functional.logsigmoid(beta * torch.stack(margins)) + nll_coef * imitated


def cross_entropy(t: dict) -> Tensor:
    return -t["logprobs"]


def per_sequence(values: Tensor) -> Tensor:
    return torch.stack([values[places(sequence)].mean() for sequence in SEQUENCES])


def kl(t: dict, coef: float = 0.01, estimator: str = "k3") -> Tensor:
    log_ratio = t["logprobs"] - t["reference_logprobs"]
    estimates = {
        "k1": lambda: log_ratio,
        "k2": lambda: log_ratio**2 / 2,
        # f-divergence form: (r - 1) - log r, where r is the base's probability divided by the policy's.
        "k3": lambda: torch.expm1(-log_ratio) - (-log_ratio),
    }
    return coef * estimates[estimator]()


def entropy(t: dict, coef: float = 0.001, floor: float | None = None) -> Tensor:
    return -coef * (t["entropy"] if floor is None else t["entropy"].clamp(max=floor))


REGULARIZERS = {"kl": kl, "entropy": entropy}

LOSSES = {
    "token": {f.__name__: f for f in (importance_sampling, ppo, cispo, dro, dppo, cross_entropy)},
    "sequence": {"gspo": gspo},
    "pair": {"dpo": dpo},
}

CASES = [
    {"name": "importance_sampling"},
    {"name": "ppo"},
    {"name": "ppo", "clip_low": 0.3, "clip_high": 0.28},
    {"name": "ppo", "dual_clip": 3.0},
    {"name": "cispo"},
    {"name": "cispo", "ratio_low": 0.8, "ratio_high": 1.2},
    {"name": "gspo"},
    {"name": "gspo", "clip_low": 0.2, "clip_high": 0.28},
    {"name": "dro"},
    {"name": "dro", "beta": 0.7},
    {"name": "dppo"},
    {"name": "dppo", "delta_low": 0.05, "delta_high": 0.02},
    {"name": "dppo", "divergence": "kl"},
    {"name": "dppo", "divergence": "kl", "delta_low": 0.01, "delta_high": 0.2},
    {"name": "dpo"},
    {"name": "dpo", "beta": 1.5},
    {"name": "dpo", "nll_coef": 0.7},
    {"name": "cross_entropy"},
]

# Losses with additional terms.
REGULARIZED = [
    ({"name": "importance_sampling"}, [{"name": "kl", "coef": 0.3, "estimator": estimator}])
    for estimator in ("k1", "k2", "k3")
] + [
    ({"name": "ppo"}, [{"name": "kl"}, {"name": "entropy"}]),
    ({"name": "cross_entropy"}, [{"name": "entropy", "coef": 0.4, "floor": 1.1}]),
    ({"name": "gspo"}, [{"name": "entropy", "coef": 0.2}, {"name": "kl", "coef": 0.5}]),
    ({"name": "dpo"}, [{"name": "kl", "coef": 0.2, "estimator": "k2"}]),
]


def weights_of(scope: str, weights: Tensor) -> Tensor:
    """For tokens, sequences or pairs: the sum over their tokens."""
    if scope == "token":
        return weights
    units = PAIRS if scope == "pair" else [(sequence,) for sequence in SEQUENCES]
    return torch.stack([sum(weights[places(sequence)].sum() for sequence in unit) for unit in units])


def pair_of(sequence: str) -> dict:
    index, pair = next((index, pair) for index, pair in enumerate(PAIRS) if sequence in pair)
    return {"id": str(index), "side": "chosen" if pair[0] == sequence else "rejected"}


def value(t: dict, value_clip: float = 0.2) -> Tensor:
    """The loss of a critic: the larger of the squared errors of its values and of the clipped values."""
    plain = torch.nn.functional.mse_loss(t["predictions"], t["returns"], reduction="none")
    if value_clip == 0:
        return plain / 2
    near = torch.clamp(t["predictions"], t["values"] - value_clip, t["values"] + value_clip)
    return torch.stack([plain, torch.nn.functional.mse_loss(near, t["returns"], reduction="none")]).amax(0) / 2


def golden_values() -> dict:
    torch.manual_seed(13)
    values, returns, drift, weights = torch.randn(4, 16)
    given = {
        "predictions": values + 0.4 * drift,
        "values": values,
        "returns": returns,
        "weights": weights.abs(),
    }
    tokens = {name: numbers.float().double() for name, numbers in given.items()}
    cases = []
    for choice in ({"name": "value"}, {"name": "value", "value_clip": 0.0}, {"name": "value", "value_clip": 0.05}):
        leaf = tokens["predictions"].clone().requires_grad_()
        loss = (value({**tokens, "predictions": leaf}, **options_of(choice)) * tokens["weights"]).sum()
        loss.backward()
        cases.append({"choice": choice, "loss": loss.item(), "byPrediction": leaf.grad.tolist()})
    return {"tokens": {name: numbers.tolist() for name, numbers in tokens.items()}, "cases": cases}


def options_of(choice: dict) -> dict:
    return {key: value for key, value in choice.items() if key != "name"}


def evaluate(choice: dict, regularizers: list[dict], tokens: dict[str, Tensor]) -> dict:
    """Σ weight · loss with additional terms, and its derivatives by each log-probability and entropy."""
    scope = next(scope for scope, known in LOSSES.items() if choice["name"] in known)
    weights = tokens["weights"]
    leaves = {name: tokens[name].clone().requires_grad_() for name in ("logprobs", "entropy")}
    given = {**tokens, **leaves}
    loss = (LOSSES[scope][choice["name"]](given, **options_of(choice)) * weights_of(scope, weights)).sum()
    for each in regularizers:
        loss = loss + (REGULARIZERS[each["name"]](given, **options_of(each)) * weights).sum()
    loss.backward()
    by_logprob, by_entropy = (leaf.grad for leaf in leaves.values())
    return {
        "choice": choice,
        "regularizers": regularizers,
        "loss": loss.item(),
        "byLogprob": by_logprob.tolist(),
        **({} if by_entropy is None else {"byEntropy": by_entropy.tolist()}),
    }


def golden_losses() -> dict:
    tokens = make_tokens()
    return {
        "data": [{"tokens": length, "sequence": sequence, "pair": pair_of(sequence)} for length, sequence in DATA],
        "tokens": {name: values.tolist() for name, values in tokens.items()},
        "critic": golden_values(),
        "cases": [
            evaluate(choice, regularizers, tokens)
            for choice, regularizers in [(choice, []) for choice in CASES] + REGULARIZED
        ],
    }
