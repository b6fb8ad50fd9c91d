"""Tiny vision-language models with random weights, made from their configs: nothing is fetched, and they talk rubbish.

Their tokenizer knows bytes only, so that it takes any text.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

_SPECIAL = ["<pad>", "<|im_start|>", "<end_of_utterance>", "<image>", "<fake_token_around_image>", "<global-img>",
            "<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>",
            *(f"<row_{i}_col_{j}>" for i in range(1, 7) for j in range(1, 7))]
_TEMPLATE = ("{% for m in messages %}<|im_start|>{{ m.role }}: {% for c in m.content %}{% if c.type == 'text' %}"
             "{{ c.text }}{% else %}IMAGE{% endif %}{% endfor %}<end_of_utterance>\n{% endfor %}"
             "{% if add_generation_prompt %}<|im_start|>assistant: {% endif %}")
_TEXT = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
         "num_key_value_heads": 2}
# Model, parts of its processor, and settings of that, from a tokenizer and the configuration of the text model.
Maker = Callable[[Any, dict[str, Any]], tuple[Any, list[Any], dict[str, Any]]]


def need_transformers() -> None:
    """Skip the calling module where torch or transformers are missing."""
    for library in ("torch", "transformers"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'eqa-nodes[local]'")


def jpeg(width: int = 48, height: int = 40, seed: int = 0) -> bytes:
    """Return a picture of noise."""
    out = io.BytesIO()
    pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), np.uint8)
    Image.fromarray(pixels).save(out, "JPEG")
    return out.getvalue()


def save_tiny(kind: str, folder: Path, seed: int = 0, brief: bool = False) -> Path:
    """Write model and processor as transformers does, and return the folder. kind: a name of KINDS.

    brief: a reply ends at every ninth letter, so that it is soon over, however long it may be.
    """
    import torch

    tokenizer = _tokenizer()
    torch.manual_seed(seed)
    model, parts, settings = KINDS[kind](tokenizer, {
        **_TEXT, "vocab_size": len(tokenizer), "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.pad_token_id, "eos_token_id": tokenizer.eos_token_id})
    ends = range(len(_SPECIAL), len(tokenizer), 9) if brief else ()
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, *ends]
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    model.save_pretrained(folder)
    for part in parts:
        part.save_pretrained(folder)
    (folder / "processor_config.json").write_text(json.dumps(settings))
    return folder


def _tokenizer() -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({letter: i for i, letter in enumerate([*_SPECIAL, *letters])}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", eos_token="<end_of_utterance>",
                                   additional_special_tokens=_SPECIAL[1:])


def _smolvlm(family: str) -> Maker:
    """SmolVLM-Instruct is of the architecture Idefics3, SmolVLM2 has its own."""
    def make(tokenizer: Any, text: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        import transformers as t

        vision = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 1, "num_attention_heads": 4,
                  "image_size": 32, "patch_size": 8}
        config = getattr(t, f"{family}Config")(
            vision_config=vision, text_config={"model_type": "llama", **text}, scale_factor=2,
            image_token_id=tokenizer.convert_tokens_to_ids("<image>"), pad_token_id=tokenizer.pad_token_id)
        tokenizer.chat_template = _TEMPLATE.replace("IMAGE", "<image>")
        images = getattr(t, f"{family}ImageProcessorPil")(size={"longest_edge": 64},
                                                         max_image_size={"longest_edge": 32})
        settings = {"processor_class": f"{family}Processor", "image_seq_len": 4}
        return getattr(t, f"{family}ForConditionalGeneration")(config), [images, tokenizer], settings
    return make


def _qwen(family: str, vision: dict[str, Any]) -> Maker:
    def make(tokenizer: Any, text: dict[str, Any]) -> tuple[Any, list[Any], dict[str, Any]]:
        import transformers as t

        name = tokenizer.convert_tokens_to_ids
        rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
        config = getattr(t, f"{family}Config")(
            text_config={**text, "rope_parameters": rope}, vision_config={**vision, "patch_size": 8},
            image_token_id=name("<|image_pad|>"), video_token_id=name("<|video_pad|>"),
            vision_start_token_id=name("<|vision_start|>"), vision_end_token_id=name("<|vision_end|>"))
        tokenizer.chat_template = _TEMPLATE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
        images = t.Qwen2VLImageProcessorPil(patch_size=8, size={"shortest_edge": 256, "longest_edge": 4096})
        settings = {"processor_class": f"{family}Processor"}
        return getattr(t, f"{family}ForConditionalGeneration")(config), [images, tokenizer], settings
    return make


KINDS: dict[str, Maker] = {
    "smolvlm": _smolvlm("Idefics3"),
    "smolvlm2": _smolvlm("SmolVLM"),
    "qwen2_vl": _qwen("Qwen2VL", {"depth": 1, "embed_dim": 32, "hidden_size": 32, "num_heads": 2, "mlp_ratio": 2}),
    "qwen2_5_vl": _qwen("Qwen2_5_VL", {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
                                       "out_hidden_size": 32, "window_size": 32, "fullatt_block_indexes": [0]}),
    "qwen3_vl": _qwen("Qwen3VL", {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2,
                                  "out_hidden_size": 32, "num_position_embeddings": 64,
                                  "deepstack_visual_indexes": [0]}),
}
