"""Turns chats into tensors for a local model: texts by its chat template, images by its image processor."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Sequence
from functools import partial
from typing import Any

from PIL import Image

from eqa_nodes.core.errors import ModelError
from eqa_nodes.core.model import Message, alternating


def load_processor(name: str) -> Any:
    """Return the processor of a folder or hub name. Raises OSError, ValueError, ImportError as transformers does.

    Processors that also take videos are loaded without that half where torchvision is absent: only it needs that.
    """
    import transformers

    if importlib.util.find_spec("torchvision") is not None:
        return transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
    config = transformers.AutoConfig.from_pretrained(name, trust_remote_code=False)
    whole = transformers.PROCESSOR_MAPPING[type(config)]
    if "video_processor" not in whole.get_attributes():
        return transformers.AutoProcessor.from_pretrained(name, trust_remote_code=False)
    return _without_video(whole, name)


class _Texts:
    """The processor of a model of texts alone: its tokenizer, which takes no images."""

    def __init__(self, tokenizer: Any, name: str) -> None:
        self.tokenizer, self._name = tokenizer, name
        self.chat_template = tokenizer.chat_template
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token

    def __call__(self, text: Sequence[str], images: object, **options: Any) -> Any:
        from transformers import BatchFeature

        if images is not None:
            raise ModelError(f"no pictures: {self._name} is a model of texts alone: choose one that takes pictures, or "
                             "use it for judges and for roles that show none")
        found = self.tokenizer(text, add_special_tokens=False, return_token_type_ids=False, **options)
        return BatchFeature(dict(found))


def load_texts(name: str) -> Any:
    """Return the processor of a model of texts alone. Raises ValueError for one that was not made for chats."""
    import transformers

    tokenizer = transformers.AutoTokenizer.from_pretrained(name, trust_remote_code=False)
    if not tokenizer.chat_template:
        raise ValueError("its tokenizer has no chat template: choose a model that was made for chats")
    return _Texts(tokenizer, name)


def _without_video(whole: Any, name: str) -> Any:
    """Return a processor of class `whole` whose video_processor is None."""
    import transformers

    class Stills(whole):
        def check_argument_for_proper_class(self, argument_name: str, argument: Any) -> Any:
            if argument_name == "video_processor":
                return type(None)
            return super().check_argument_for_proper_class(argument_name, argument)

    loaders = {"tokenizer": transformers.AutoTokenizer, "image_processor": transformers.AutoImageProcessor}
    settings, rest = whole.get_processor_dict(name)
    parts = [loaders[part].from_pretrained(name, trust_remote_code=False) if part in loaders else None
             for part in whole.get_attributes()]
    return Stills.from_args_and_dict(parts, settings, **rest)


def tensors(processor: Any, chats: Sequence[Sequence[Message]]) -> Any:
    """Return the model's inputs for a batch, texts padded on the left: input_ids is (B, tokens) int64.

    Either every chat shows images or none does. Raises ModelError for bytes that are no image.
    """
    from jinja2 import TemplateError  # transformers needs it for templates

    template = {"chat_template": processor.chat_template} if processor.chat_template else {}
    write = partial(processor.tokenizer.apply_chat_template, add_generation_prompt=True, tokenize=False, **template)
    turns = _plain_turns if isinstance(processor, _Texts) else _turns
    try:
        texts = [write(turns(chat)) for chat in chats]
    except TemplateError:  # most that raise one take no message of the system, or want roles that alternate
        texts = [write(turns(alternating(chat))) for chat in chats]
    images = [[_image(part) for message in chat for part in message.parts if isinstance(part, bytes)] for chat in chats]
    return processor(text=texts, images=images if images[0] else None, padding=True, padding_side="left",
                     return_tensors="pt")


def shows_images(chat: Sequence[Message]) -> bool:
    """Return whether a chat holds an image."""
    return any(isinstance(part, bytes) for message in chat for part in message.parts)


def letter_tokens(tokenizer: Any, letters: str) -> list[list[int]] | None:
    """Return the tokens that write each letter, with and without a space before; None where one takes more tokens."""
    found = []
    for letter in letters:
        encodings = [tokenizer.encode(text, add_special_tokens=False) for text in (letter, " " + letter)]
        found.append(sorted({tokens[0] for tokens in encodings
                             if len(tokens) == 1 and tokens[0] != tokenizer.unk_token_id}))
    return found if all(found) else None


def _turns(chat: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": [
        {"type": "text", "text": part} if isinstance(part, str) else {"type": "image"} for part in message.parts]}
        for message in chat]


def _plain_turns(chat: Sequence[Message]) -> list[dict[str, Any]]:
    return [{"role": message.role, "content": "\n".join(part for part in message.parts if isinstance(part, str))}
            for message in chat]


def _image(jpeg: bytes) -> Image.Image:
    try:
        return Image.open(io.BytesIO(jpeg)).convert("RGB")
    except OSError as error:
        raise ModelError(f"wrong form: a picture of {len(jpeg)} bytes cannot be decoded: {error}") from error
