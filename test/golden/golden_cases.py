"""Writes the cases of a script with all their files.

A script describes its families as subclasses of `Reference` and its cases as instances of them; `write_case` writes

    model/                 an ordinary Hugging Face folder with small random weights
    adapter/               a PEFT folder, LoRA B not zero
    images/*.png           inputs
    expected.json          conversation, prompt text, token ids, log-probabilities, greedy tokens, ...
    expected.safetensors   pixel patches, vision features, what else the family adds (fp32)
    gradients.safetensors  d loss / d weight for all weights, under the names of the model's modules (fp32)
    lora_gradients.safetensors  d loss / d A, d B with the adapter on, under the names of the adapter file (fp32)

The loss is the mean over the tokens of the response (end-of-turn token included) of -log p(token).
"""

import json
import shutil
import sys

import torch
from safetensors.torch import save_file

from golden_adapters import write_adapter
from golden_conversations import conversation
from golden_files import FIXTURES, contiguous
from golden_images import write_images
from golden_tokenizers import TOKENIZER_SAMPLES
from golden_values import forward, greedy, response_loss, token_logprobs
from reference import Reference


def random_model(reference: Reference, tokenizer):
    """The model with random weights that the case's data type can represent exactly."""
    case = reference.case
    model = reference.finish_model(reference.build_model(tokenizer).eval())
    reference.randomize(model)
    with torch.no_grad():
        for token in reference.pixel_tokens(model):
            model.lm_head.weight[token] = 0
        if case["dtype"] != torch.float32:
            for parameter in model.parameters():
                parameter.copy_(parameter.to(case["dtype"]).float())
    model.tie_weights()
    return model


def write_case(name: str, reference: Reference) -> None:
    case = reference.case
    folder = FIXTURES / name
    shutil.rmtree(folder, ignore_errors=True)
    model_dir = folder / "model"
    model_dir.mkdir(parents=True)
    (folder / "images").mkdir()
    reference.write_tokenizer(model_dir)
    (model_dir / "chat_template.jinja").write_text(reference.template_text())
    reference.write_processor(model_dir)
    tokenizer = reference.open(model_dir)
    model = random_model(reference, tokenizer)
    reference.save_model(model, model_dir)

    images, described = write_images(folder, case)
    prepared = reference.prepare(model_dir, images)
    described = [{**image, **geometry} for image, geometry in zip(described, prepared.geometry)]

    messages, response = conversation(len(images))
    prompt_text = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
    # Tokens that a tokenizer adds before every text belong before the prompt, not before the response.
    prompt = torch.tensor(tokenizer(reference.expand(prompt_text, prepared)).input_ids)
    answer = reference.before_answer + response + reference.end_of_turn
    response_ids = torch.tensor(tokenizer(answer, add_special_tokens=False).input_ids)
    ids = torch.cat([prompt, response_ids])

    tensors = {"pixel_values": prepared.patches}
    tensors.update(reference.further_tensors(model, ids, prepared))
    with torch.no_grad():
        features = reference.features(model, prepared)
        tensors.update(features)
        assert (ids == reference.image_token_id).sum() == len(features["vision_features"])
        output = forward(reference, model, ids, prepared, output_hidden_states=True)
        tensors["logits_last"] = output.logits[0, -1]
        tensors["hidden_states.last_layer_in"] = output.hidden_states[-2][0]
        logprobs = token_logprobs(output.logits, ids)
        text_ids = torch.tensor(tokenizer("Turn on Wi-Fi.", add_special_tokens=False).input_ids)
        text_only = token_logprobs(model(input_ids=text_ids[None]).logits, text_ids)

    loss = response_loss(forward(reference, model, ids, prepared).logits, ids, len(response_ids))
    loss.backward()
    gradients = {key: value.grad for key, value in model.named_parameters() if value.grad is not None}
    save_file(contiguous(gradients), folder / "gradients.safetensors")
    model.zero_grad()
    greedy_ids, gap = greedy(reference, model, prompt, prepared)
    assert gap > 2e-3, f"{name}: greedy tokens hang on a gap of {gap}; take another seed"
    further = reference.further_values(model, ids, prepared)

    lora_values = write_adapter(folder, reference, model, ids, prepared, prompt)

    expected = {
        "images": described,
        "messages": messages,
        "response": response,
        "prompt_text": prompt_text,
        "prompt_ids": prompt.tolist(),
        "response_ids": response_ids.tolist(),
        "special_ids": {token: tokenizer.convert_tokens_to_ids(token) for token in reference.special_tokens},
        **further,
        "loss": loss.item(),
        "logprobs": logprobs.tolist(),
        "text_only": {"ids": text_ids.tolist(), "logprobs": text_only.tolist()},
        "greedy_ids": greedy_ids,
        "greedy_gap": gap,
        "lora": lora_values,
        "tokenizer": [
            {"text": text, "ids": tokenizer(text, add_special_tokens=False).input_ids}
            for text in (reference.special_sample() if sample is None else sample for sample in TOKENIZER_SAMPLES)
        ],
        "template": [
            {
                **sample,
                "text": tokenizer.apply_chat_template(
                    sample["messages"],
                    tools=sample["tools"],
                    add_generation_prompt=sample["add_generation_prompt"],
                    tokenize=False,
                    **sample.get("variables", {}),
                ),
            }
            for sample in reference.template_samples()
        ],
    }
    (folder / "expected.json").write_text(json.dumps(expected, indent=1, ensure_ascii=False) + "\n")
    save_file(contiguous(tensors), folder / "expected.safetensors")


def main(cases: dict[str, Reference]) -> None:
    """Writes the cases named on the command line, or all of them."""
    torch.manual_seed(0)
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or cases:
        write_case(name, cases[name])
        print(f"wrote {FIXTURES / name}")
