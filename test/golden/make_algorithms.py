"""Writes losses, advantages and optimizer steps for given numbers, computed independently of the project.

Requirements: torch 2.13. Use:
    python test/golden/make_algorithms.py

`algorithms` gets
    losses.json      tokens of a pass; for each choice the loss, with what is added to it, and its derivatives by
                     every log-probability and entropy
    advantages.json  groups of episodes; for each choice a number per token
    optimizers.json  weights and gradients of several steps; for each choice the weights after them
"""

from golden_advantages import golden_advantages
from golden_files import HERE, write_json
from golden_losses import golden_losses
from golden_optimizers import golden_optimizers

FOLDER = HERE / "algorithms"

if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_json(FOLDER / "losses.json", golden_losses())
    write_json(FOLDER / "advantages.json", golden_advantages())
    write_json(FOLDER / "optimizers.json", golden_optimizers())
