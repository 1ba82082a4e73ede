"""Writes the outputs of a critic for the case qwen3-vl-a: its adapter with a value head instead of the output layer.

Requirements and use as for make_qwen_vl.py, whose fixture must be there:
    python test/golden/make_critic.py

`critic` gets
    value_head.safetensors random weights of the head
    expected.json          tokens, weights, values before the step and returns by position; values and losses by value_clip
    gradients.safetensors  d loss / d A, d B and the head, with the last value_clip
"""

import torch
from peft import PeftModel
from safetensors.torch import save_file
from transformers import AutoModelForImageTextToText

from golden_files import FIXTURES, contiguous, write_json

CASE = "qwen3-vl-a"
SEED = 20
LENGTH, PROMPT = 17, 6
CLIPS = (0.0, 0.3)


def value_loss(values: torch.Tensor, old: torch.Tensor, returns: torch.Tensor, clip: float) -> torch.Tensor:
    """Like cleanrl's ppo.py, per token."""
    unclipped = (values - returns) ** 2
    if clip == 0:
        return 0.5 * unclipped
    clipped = (old + torch.clamp(values - old, -clip, clip) - returns) ** 2
    return 0.5 * torch.max(unclipped, clipped)


def main() -> None:
    torch.manual_seed(SEED)
    folder, target = FIXTURES / CASE, FIXTURES.parent / "critic"
    target.mkdir(exist_ok=True)
    model = AutoModelForImageTextToText.from_pretrained(
        folder / "model", dtype=torch.float32, attn_implementation="eager"
    )
    lora = PeftModel.from_pretrained(model, folder / "adapter", is_trainable=True)
    head = torch.nn.Linear(model.config.text_config.hidden_size, 1)
    states: list[torch.Tensor] = []
    model.lm_head.register_forward_pre_hook(lambda _, inputs: states.append(inputs[0]))
    ids = torch.randint(10, 150, (LENGTH,))
    lora(input_ids=ids[None], attention_mask=torch.ones_like(ids)[None], use_cache=False)
    # Position i is the state before token i + 1.
    values = head(states[0])[0, PROMPT - 1 : -1, 0]
    weights = 0.5 + torch.rand(len(values))
    old = values.detach() + 0.5 * torch.randn(len(values))
    returns = values.detach() + torch.randn(len(values))
    losses = [(weights * value_loss(values, old, returns, clip)).sum() for clip in CLIPS]
    losses[-1].backward()
    weights_of_head = {f"value_head.{key}": value.detach() for key, value in head.named_parameters()}
    save_file(weights_of_head, target / "value_head.safetensors")
    adapter = {key: value.grad for key, value in lora.named_parameters() if value.grad is not None}
    gradients = {key.replace(".default.weight", ".weight"): value for key, value in adapter.items()}
    gradients |= {f"value_head.{key}": value.grad for key, value in head.named_parameters()}
    save_file(contiguous(gradients), target / "gradients.safetensors")
    expected = {
        "case": CASE,
        "ids": ids.tolist(),
        "prompt": PROMPT,
        "weights": weights.tolist(),
        "old_values": old.tolist(),
        "returns": returns.tolist(),
        "values": values.tolist(),
        "losses": {str(clip): loss.item() for clip, loss in zip(CLIPS, losses)},
    }
    write_json(target / "expected.json", expected)


if __name__ == "__main__":
    main()
