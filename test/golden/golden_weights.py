"""Random weights, and storage of a model with them."""

import math
from pathlib import Path

import torch


def randomize(model, seed: int) -> None:
    """Weights large enough for every part of the network to matter: library defaults give nearly constant logits."""
    generator = torch.Generator().manual_seed(seed)

    def normal(parameter):
        return torch.randn(parameter.shape, generator=generator)

    with torch.no_grad():
        for name, parameter in sorted(model.named_parameters()):
            if "norm" in name and name.endswith("weight"):
                parameter.copy_(1 + 0.1 * normal(parameter))
            elif name.endswith("bias"):
                parameter.copy_(0.1 * normal(parameter))
            elif "embed_tokens" in name or "pos_embed" in name or "position_embedding" in name:
                parameter.copy_(0.5 * normal(parameter))
            else:
                # Three axes are a stack of layers, each of which reads the last axis.
                fan_in = parameter.shape[-1] if parameter.dim() == 3 else parameter[0].numel()
                parameter.copy_(normal(parameter) * (1.5 / math.sqrt(fan_in)))


def save_model(model, folder: Path, case: dict) -> None:
    saved = model if case["dtype"] == torch.float32 else type(model)(model.config).to(case["dtype"])
    if saved is not model:
        saved.load_state_dict({key: value.to(case["dtype"]) for key, value in model.state_dict().items()})
        saved.tie_weights()
    saved.config.dtype = case["dtype"]
    sharded = case["dtype"] != torch.float32
    saved.save_pretrained(folder, max_shard_size="160KB" if sharded else "50MB")
    model.config.dtype = torch.float32
