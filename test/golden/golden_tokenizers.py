"""Tokenizers of the fixtures, trained on a few lines of text, and test texts."""

import json
from pathlib import Path

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from golden_files import write_json

SPLIT = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
CORPUS = [
    "You operate a phone. Turn on Wi-Fi, open the settings and tap the toggle of the row. The screen is shown.",
    '{"action":"click","x":83,"y":41} {"action":"type","text":"hello"} {"action":"scroll","direction":"down"}',
    "the screen the settings the action the phone the text system user assistant tool",
]
TOKENIZER_SAMPLES = [
    "",
    "hello",
    " hello  world\n\n  x",
    "The toggle's row: 83,41",
    "Äßé e\u0301 漢字 🙂👩‍👩‍👧",
    None,  # the family's text with special tokens
    '{"action":"click","x":83,"y":41}',
    "tab\tand\r\nnewline \u00a0nbsp",
]


def write_byte_level_tokenizer(
    folder: Path,
    special: list[str],
    end_of_turn: str,
    pad: str,
    size: int = 300,
    split: str = SPLIT,
    plain: tuple[str, ...] = (),
    tokenizer_class: str = "Qwen2Tokenizer",
) -> None:
    """`plain` lists added tokens that remain when special tokens are skipped."""
    tokenizer = Tokenizer(models.BPE(unk_token=None, byte_fallback=False, fuse_unk=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(split), behavior="isolated", invert=False),
            pre_tokenizers.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel(add_prefix_space=False, trim_offsets=False, use_regex=False)
    trainer = trainers.BpeTrainer(
        vocab_size=size - len(special) - len(plain),
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        special_tokens=[],
        show_progress=False,
    )
    tokenizer.train_from_iterator(CORPUS, trainer)
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    tokenizer.add_tokens([AddedToken(token, special=False, normalized=False) for token in plain])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "add_bos_token": False,
        "add_prefix_space": False,
        "bos_token": None,
        "clean_up_tokenization_spaces": False,
        "eos_token": end_of_turn,
        "errors": "replace",
        "model_max_length": 4096,
        "pad_token": pad,
        "split_special_tokens": False,
        "tokenizer_class": tokenizer_class,
        "unk_token": None,
        "added_tokens_decoder": added_tokens(tokenizer, special, plain),
    }
    write_json(folder / "tokenizer_config.json", config)


def added_tokens(tokenizer: Tokenizer, special: list[str], plain: tuple[str, ...] = ()) -> dict:
    return {
        str(tokenizer.token_to_id(token)): {
            "content": token,
            "lstrip": False,
            "normalized": False,
            "rstrip": False,
            "single_word": False,
            "special": token in special,
        }
        for token in [*special, *plain]
    }


def write_llama_tokenizer(folder: Path, special: list[str], eos: str, further_words: int = 60) -> None:
    """As that of Llama and Mistral: spaces as ▁, bytes where a character is unknown, <s> before every text.

    `special` begins with <unk>, <s> and </s>.
    """
    metaspace = dict(replacement="▁", prepend_scheme="first")
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace, split=True)
    alphabet = len({character for text in CORPUS for character in text.replace(" ", "▁")})
    learner.train_from_iterator(
        CORPUS, trainers.BpeTrainer(vocab_size=alphabet + further_words, special_tokens=[], show_progress=False)
    )
    learnt = json.loads(learner.to_str())["model"]
    tokens = [*special[:3], *[f"<0x{byte:02X}>" for byte in range(256)]]
    tokens += sorted(learnt["vocab"], key=learnt["vocab"].get)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    merges = [tuple(merge) for merge in learnt["merges"]]
    tokenizer = Tokenizer(models.BPE(vocabulary, merges, unk_token=special[0], byte_fallback=True, fuse_unk=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(**metaspace, split=False)
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    begin = tokenizer.token_to_id(special[1])
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{special[1]} $A", pair=f"{special[1]} $A {special[1]} $B", special_tokens=[(special[1], begin)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "added_tokens_decoder": added_tokens(tokenizer, special),
        "bos_token": special[1],
        "clean_up_tokenization_spaces": False,
        "eos_token": eos,
        "model_max_length": 4096,
        "pad_token": special[0],
        "tokenizer_class": "PreTrainedTokenizerFast",
        "unk_token": special[0],
    }
    write_json(folder / "tokenizer_config.json", config)
