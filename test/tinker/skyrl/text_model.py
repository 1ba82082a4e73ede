"""Writes the text part of a Qwen3-VL folder as a Qwen3 text model: the same weights, tokenizer and template.

SkyRL's JAX backend reads Qwen3 as a text model, and a run of this project writes its prompts with a Qwen3-VL. With texts alone the two compute the
same: a decoder of Qwen3-VL is one of Qwen3 whose positions have three equal coordinates.

    python text_model.py <Qwen3-VL folder> <folder to write> [<factor>]

With a factor the weights of the last norm are multiplied by it, in both folders: the logits of random weights differ by a few nats at most, and adapters
reach neither the norm nor the embeddings, so that nothing could be learnt to be said with certainty.
"""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

PREFIX = "model.language_model."
LAST_NORM = f"{PREFIX}norm.weight"
FILES = ["tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"]


def text_config(config: dict) -> dict:
    text = dict(config["text_config"])
    rope_theta = text.pop("rope_theta", None) or text["rope_parameters"]["rope_theta"]
    for name in ("rope_scaling", "rope_parameters"):
        text.pop(name, None)
    return {
        **text,
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "rope_theta": rope_theta,
        "tie_word_embeddings": config["tie_word_embeddings"],
        "use_sliding_window": False,
        "dtype": config["dtype"],
    }


def scale_last_norm(source: Path, factor: float) -> None:
    for file in source.glob("*.safetensors"):
        tensors = load_file(file)
        if LAST_NORM in tensors:
            tensors[LAST_NORM] = tensors[LAST_NORM] * np.float32(factor)
            save_file(tensors, file, metadata={"format": "pt"})


def main(source: Path, out: Path, factor: float) -> None:
    out.mkdir(parents=True)
    scale_last_norm(source, factor)
    tensors = {}
    for file in sorted(source.glob("*.safetensors")):
        tensors.update(load_file(file))
    decoder = {"model." + name.removeprefix(PREFIX): tensor for name, tensor in tensors.items() if name.startswith(PREFIX)}
    if "lm_head.weight" in tensors:
        decoder["lm_head.weight"] = tensors["lm_head.weight"]
    if not decoder:
        raise SystemExit(f"{source} has no weights named {PREFIX}…, as a Qwen3-VL has")
    save_file(decoder, out / "model.safetensors", metadata={"format": "pt"})
    config = json.loads((source / "config.json").read_text())
    (out / "config.json").write_text(json.dumps(text_config(config), indent=2) + "\n")
    for name in FILES:
        if (source / name).exists():
            shutil.copy(source / name, out / name)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3]) if len(sys.argv) > 3 else 1.0)
