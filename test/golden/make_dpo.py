"""Writes PyTorch's values of the DPO loss and its derivatives into dpo/expected.json.

    pip install torch==2.13.0
    python test/golden/make_dpo.py && npx prettier --write test/golden/dpo

Each case has pairs of a chosen and a rejected sequence of tokens: log-probabilities of the policy and of the reference, and the
weight of each token. The loss is that of Rafailov et al. 2023, eq. 7, per pair, summed with the weights of the pair's tokens.
`start` is where training begins: policy and reference are the same; `far` has margins at which exp overflows in 32 bits.
"""

import json
from pathlib import Path

import torch
from torch.nn.functional import logsigmoid

TARGET = Path(__file__).parent / "dpo"
# Tokens of the chosen and of the rejected sequence of each pair.
LENGTHS = [(3, 5), (1, 1), (7, 2)]


def case(seed: int, beta: float, spread: float) -> dict:
    torch.manual_seed(seed)
    pairs, total, leaves = [], torch.zeros(()), []
    for lengths in LENGTHS:
        pair, gains, weight = {}, {}, torch.zeros(())
        for side, length in zip(("chosen", "rejected"), lengths, strict=True):
            reference = -4 * torch.rand(length)
            logprobs = (reference + spread * torch.randn(length)).requires_grad_()
            weights = torch.rand(length) + 0.1
            gains[side] = (logprobs - reference).sum()
            weight = weight + weights.sum()
            leaves.append((pair, side, logprobs))
            pair[side] = {"reference": reference.tolist(), "logprobs": logprobs.tolist(), "weights": weights.tolist()}
        margin = beta * (gains["chosen"] - gains["rejected"])
        pair["margin"] = margin.item()
        total = total - weight * logsigmoid(margin)
        pairs.append(pair)
    total.backward()
    for pair, side, logprobs in leaves:
        pair[side]["gradient"] = logprobs.grad.tolist()
    return {"beta": beta, "loss": total.item(), "pairs": pairs}


def main() -> None:
    torch.set_default_dtype(torch.float64)
    cases = {
        "near": case(1, 0.1, 0.3),
        "beta": case(2, 0.7, 0.3),
        "start": case(3, 0.1, 0.0),
        "far": case(4, 5.0, 30.0),
    }
    TARGET.mkdir(exist_ok=True)
    (TARGET / "expected.json").write_text(json.dumps(cases) + "\n")


if __name__ == "__main__":
    main()
