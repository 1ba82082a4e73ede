"""Common parts of Idefics2, Idefics3 and SmolVLM."""

import torch

from golden_conversations import part_samples
from reference import TEXT_LINEARS, Prepared, Reference

AROUND = "<fake_token_around_image>"
TEXT_ONLY = rf".*text_model.*\.({'|'.join(TEXT_LINEARS)})"


class Idefics(Reference):
    """Common parts of the families."""

    image_token = "<image>"
    end_of_turn = "<end_of_utterance>"
    before_answer = " "
    # tokens that end a generation
    ending_tokens = ["<end_of_utterance>"]
    config_class: type
    model_class: type

    def text_config(self, tokenizer) -> dict:
        ids = tokenizer.convert_tokens_to_ids
        return dict(
            vocab_size=len(tokenizer),
            max_position_embeddings=4096,
            tie_word_embeddings=self.case["tie"],
            pad_token_id=ids(self.pad_token),
            eos_token_id=[ids(token) for token in self.ending_tokens],
            **self.case["text"],
        )

    def build_model(self, tokenizer):
        config = self.config_class(
            text_config=self.text_config(tokenizer),
            vision_config=self.case["vision"],
            image_token_id=tokenizer.convert_tokens_to_ids(self.image_token),
            tie_word_embeddings=self.case["tie"],
            **self.case.get("further", {}),
        )
        config._attn_implementation = "eager"
        return self.model_class(config)

    def features(self, model, prepared: Prepared) -> dict[str, torch.Tensor]:
        return {"vision_features": torch.cat(model.model.get_image_features(**prepared.inputs).pooler_output)}

    def template_samples(self) -> list[dict]:
        return part_samples()
