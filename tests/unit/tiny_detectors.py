"""Tiny detectors, segmenters and embedders with random weights, made from their configs: nothing is fetched."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def need_transformers() -> None:
    """Skip the calling module where torch or transformers are missing."""
    for library in ("torch", "transformers"):
        pytest.importorskip(library, reason=f"{library} is not installed: pip install 'eqa-nodes[local]'")


def save_tiny(kind: str, folder: Path, seed: int = 0) -> Path:
    """Write model and processor of one of KINDS as transformers does, and return the folder."""
    import torch

    torch.manual_seed(seed)
    model, processor = KINDS[kind]()
    model.eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def _words(special: dict[str, int], **names: Any) -> Any:
    """Return a tokenizer that knows a few words. special: tokens with their ids; the first two begin and end a text."""
    import transformers as t
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    words = ("a", "photo", "of", "chair", "coffee", "table", "bed", "cup")
    vocabulary = {**special, **{word: 10 + i for i, word in enumerate(words)}}
    raw = Tokenizer(models.WordLevel(vocabulary, unk_token=list(special)[-1]))
    raw.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Punctuation()])
    begin, end = list(special)[:2]
    raw.post_processor = processors.TemplateProcessing(
        single=f"{begin} $A {end}", special_tokens=[(begin, vocabulary[begin]), (end, vocabulary[end])])
    return t.PreTrainedTokenizerFast(tokenizer_object=raw, **names)


def _clip_tokens() -> Any:
    return _words({"<s>": 1, "</s>": 2, "<pad>": 0, "<unk>": 3}, bos_token="<s>", eos_token="</s>", pad_token="<pad>",
                  unk_token="<unk>", model_max_length=16)


_TEXT = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2, "vocab_size": 40,
         "max_position_embeddings": 16, "bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 0}
_VISION = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2,
           "image_size": 32, "patch_size": 8}


def _owl(family: str) -> Callable[[], tuple[Any, Any]]:
    def make() -> tuple[Any, Any]:
        import transformers as t

        config = getattr(t, f"{family}Config")(text_config=_TEXT, vision_config=_VISION, projection_dim=16)
        images = getattr(t, f"{family}ImageProcessorPil")(size={"height": 32, "width": 32})
        model = getattr(t, f"{family}ForObjectDetection")(config)
        for part in (model.box_head, model.class_head):
            for values in part.parameters():
                values.data *= 0.3  # as they are made, boxes have no area and scores are 0
        return model, getattr(t, f"{family}Processor")(images, _clip_tokens())
    return make


def _grounding_dino() -> tuple[Any, Any]:
    import transformers as t

    backbone = t.SwinConfig(image_size=32, embed_dim=8, depths=[1, 1, 1, 1], num_heads=[1, 1, 2, 2], window_size=2,
                            out_features=["stage2", "stage3", "stage4"])
    text = t.BertConfig(vocab_size=1013, hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
                        intermediate_size=32, max_position_embeddings=64)
    config = t.GroundingDinoConfig(
        backbone_config=backbone, text_config=text, d_model=32, encoder_layers=1, encoder_attention_heads=2,
        decoder_layers=2, decoder_attention_heads=2, encoder_ffn_dim=32, decoder_ffn_dim=32, num_queries=12,
        max_text_len=48, num_feature_levels=3)
    tokens = _words({"[CLS]": 101, "[SEP]": 102, "[PAD]": 0, ".": 1012, "[UNK]": 100}, cls_token="[CLS]",
                    sep_token="[SEP]", pad_token="[PAD]", unk_token="[UNK]")
    images = t.GroundingDinoImageProcessorPil(size={"shortest_edge": 48, "longest_edge": 64})
    return t.GroundingDinoForObjectDetection(config), t.GroundingDinoProcessor(images, tokens)


def _sam() -> tuple[Any, Any]:
    import transformers as t

    vision = t.SamVisionConfig(hidden_size=16, output_channels=8, num_hidden_layers=1, num_attention_heads=2,
                               image_size=64, patch_size=8, mlp_dim=16, num_pos_feats=4, window_size=4,
                               global_attn_indexes=[0])
    prompts = t.SamPromptEncoderConfig(hidden_size=8, image_size=64, patch_size=8, mask_input_channels=4)
    masks = t.SamMaskDecoderConfig(hidden_size=8, mlp_dim=16, num_attention_heads=2, iou_head_hidden_dim=8)
    config = t.SamConfig(vision_config=vision, prompt_encoder_config=prompts, mask_decoder_config=masks)
    images = t.SamImageProcessorPil(size={"longest_edge": 64}, pad_size={"height": 64, "width": 64},
                                    mask_size={"longest_edge": 16}, mask_pad_size={"height": 16, "width": 16})
    return t.SamModel(config), t.SamProcessor(images)


def _clip() -> tuple[Any, Any]:
    import transformers as t

    config = t.CLIPConfig(text_config=_TEXT, vision_config=_VISION, projection_dim=16)
    images = t.CLIPImageProcessorPil(size={"shortest_edge": 32}, crop_size={"height": 32, "width": 32})
    return t.CLIPModel(config), t.CLIPProcessor(images, _clip_tokens())


def _siglip() -> tuple[Any, Any]:
    import transformers as t

    config = t.SiglipConfig(text_config={**_TEXT, "projection_size": 16}, vision_config=_VISION)
    images = t.SiglipImageProcessorPil(size={"height": 32, "width": 32})
    return t.SiglipModel(config), t.SiglipProcessor(images, _clip_tokens())


KINDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "owlvit": _owl("OwlViT"), "owlv2": _owl("Owlv2"), "grounding-dino": _grounding_dino, "sam": _sam, "clip": _clip,
    "siglip": _siglip}
