"""Steps of optimizers: torch's own, and Muon after Jordan 2024 in 64 bits (torch's takes its Newton-Schulz steps in bfloat16)."""

import torch
from torch import Tensor

RATE, STEPS = 0.1, 4
SHAPES = {"tall": (6, 4), "wide": (3, 8), "bias": (5,), "embed_tokens": (4, 3), "cube": (2, 2, 3)}


def make() -> tuple[dict[str, Tensor], list[dict[str, Tensor]]]:
    torch.manual_seed(17)
    draw = lambda: {name: torch.randn(*shape).double() for name, shape in SHAPES.items()}
    return draw(), [draw() for _ in range(STEPS)]


def newton_schulz(matrix: Tensor) -> Tensor:
    a, b, c = 3.4445, -4.7750, 2.0315
    x = matrix.T if matrix.shape[0] > matrix.shape[1] else matrix
    x = x / (torch.linalg.matrix_norm(x) + 1e-7)
    for _ in range(5):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if matrix.shape[0] > matrix.shape[1] else x


class Muon:
    def __init__(self, weights: list[Tensor], momentum: float = 0.95, nesterov: bool = True, decay: float = 0.0):
        self.weights, self.momentum, self.nesterov, self.decay = weights, momentum, nesterov, decay
        self.buffers = [torch.zeros_like(weight) for weight in weights]

    @torch.no_grad()
    def step(self) -> None:
        for weight, buffer in zip(self.weights, self.buffers, strict=True):
            buffer.mul_(self.momentum).add_(weight.grad)
            direction = weight.grad + self.momentum * buffer if self.nesterov else buffer
            rows, columns = weight.shape
            weight.mul_(1 - RATE * self.decay)
            weight.sub_(RATE * max(1, rows / columns) ** 0.5 * newton_schulz(direction))


def adamw(weights: list[Tensor], decay: float = 0.0, rate: float = RATE) -> torch.optim.Optimizer:
    return torch.optim.AdamW(weights, lr=rate, betas=(0.9, 0.95), eps=1e-8, weight_decay=decay)


def optimizers_of(choice: dict, weights: dict[str, Tensor]) -> list:
    options = {key: value for key, value in choice.items() if key != "name"}
    decay = options.get("weight_decay", 0.0)
    if choice["name"] == "adamw":
        return [adamw(list(weights.values()), decay)]
    if choice["name"] == "sgd":
        return [torch.optim.SGD(weights.values(), lr=RATE, **options)]
    matrices = [weight for name, weight in weights.items() if weight.dim() == 2 and name != "embed_tokens"]
    others = [weight for name, weight in weights.items() if weight.dim() != 2 or name == "embed_tokens"]
    muon = {key: options[key] for key in ("momentum", "nesterov") if key in options}
    return [Muon(matrices, **muon, decay=decay), adamw(others, decay, RATE * options.get("adamw_rate", 1.0))]


CHOICES = [
    {"name": "adamw"},
    {"name": "adamw", "weight_decay": 0.1},
    {"name": "sgd"},
    {"name": "sgd", "momentum": 0.9, "weight_decay": 0.05},
    {"name": "sgd", "momentum": 0.8, "nesterov": True},
    {"name": "muon"},
    {"name": "muon", "momentum": 0.5, "nesterov": False, "weight_decay": 0.2, "adamw_rate": 0.3},
]


def check_against_torch(start: dict[str, Tensor], gradients: list[dict[str, Tensor]]) -> None:
    """torch.optim.Muon, whose momentum is a mean (Muon is scale-invariant), within the precision of bfloat16."""
    for name in ("tall", "wide"):
        own, torchs = start[name].clone(), start[name].clone()
        ours, theirs = Muon([own]), torch.optim.Muon([torchs], lr=RATE, weight_decay=0.0, adjust_lr_fn="original")
        for each in gradients:
            own.grad, torchs.grad = each[name], each[name]
            ours.step()
            theirs.step()
        assert (own - torchs).abs().max() < 0.02 * STEPS, name


def golden_optimizers() -> dict:
    start, gradients = make()
    check_against_torch(start, gradients)
    cases = []
    for choice in CHOICES:
        weights = {name: weight.clone().requires_grad_() for name, weight in start.items()}
        optimizers = optimizers_of(choice, weights)
        for each in gradients:
            for name, weight in weights.items():
                weight.grad = each[name].clone()
            for optimizer in optimizers:
                optimizer.step()
        cases.append({"choice": choice, "weights": flat(weights)})
    return {
        "learningRate": RATE,
        "shapes": SHAPES,
        "weights": flat(start),
        "gradients": [flat(each) for each in gradients],
        "cases": cases,
    }


def flat(weights: dict[str, Tensor]) -> dict[str, list[float]]:
    return {name: weight.detach().flatten().tolist() for name, weight in weights.items()}
