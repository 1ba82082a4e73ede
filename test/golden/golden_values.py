"""The reference implementation's results for a sequence: logits, log-probabilities, loss, greedy tokens."""

import math

import torch

from reference import Prepared, Reference

GREEDY_TOKENS = 32


def forward(reference: Reference, model, ids: torch.Tensor, prepared: Prepared, **extra):
    return model(
        input_ids=ids[None],
        attention_mask=torch.ones_like(ids)[None],
        use_cache=False,
        **reference.model_inputs(ids, prepared),
        **extra,
    )


def token_logprobs(logits: torch.Tensor, ids: torch.Tensor) -> torch.Tensor:
    """log p(ids[i+1] | ids[..i]), [T-1]."""
    return torch.log_softmax(logits[0, :-1].float(), dim=-1).gather(-1, ids[1:, None])[:, 0]


def greedy(reference: Reference, model, prompt: torch.Tensor, prepared: Prepared) -> tuple[list[int], float]:
    """Greedy tokens without a cache, also after the end of turn, and the smallest gap between first and second."""
    ids, gap = prompt, math.inf
    for _ in range(GREEDY_TOKENS):
        with torch.no_grad():
            logits = forward(reference, model, ids, prepared).logits[0, -1]
        best = torch.topk(logits, 2)
        gap = min(gap, (best.values[0] - best.values[1]).item())
        ids = torch.cat([ids, best.indices[:1]])
    return ids[len(prompt) :].tolist(), gap


def response_loss(logits: torch.Tensor, ids: torch.Tensor, response: int) -> torch.Tensor:
    return -token_logprobs(logits, ids)[-response:].mean()
