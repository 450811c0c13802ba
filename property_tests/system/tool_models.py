"""Small models of families that call functions: random weights with a token per byte and the marks of a
family. What they write is noise, so a call that parses is the grammar's work (SERVE-17)."""

import json
import pathlib
import random

from slip_system import CONFIG, tensor_shapes, write_safetensors

# What shows that a template has tools, and the marks of its tokenizer: those that are special, and others.
FAMILIES = {
    "qwen": ("<|im_start|> <|im_end|> For each function call, return a json object <tool_call> "
             "<tool_response>", ["<|im_end|>", "<|im_start|>"], ["<tool_call>", "</tool_call>"]),
    "llama3": ("<|start_header_id|> <|eot_id|> tools_in_user_message Environment: ipython \"parameters\": ",
               ["<|eot_id|>", "<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>"], []),
    "mistral": ("[INST] [/INST] [AVAILABLE_TOOLS] [TOOL_CALLS] \"call_id\": ",
                ["</s>", "<s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]",
                 "[TOOL_CALLS]", "[TOOL_RESULTS]", "[/TOOL_RESULTS]"], [])}


def byte_letters():
    """The letter of each byte in GPT-2's alphabet."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [byte for byte in range(256) if byte not in plain]
    return {byte: chr(byte) for byte in plain} | {byte: chr(256 + i) for i, byte in enumerate(others)}


def ids_of_marks(family):
    """By how they are written."""
    _, special, others = FAMILIES[family]
    return {mark: 256 + i for i, mark in enumerate(special + others)}


def make_model(folder, family):
    """Writes a model of the family and returns its folder."""
    template, special, _ = FAMILIES[family]
    folder = pathlib.Path(folder) / family
    folder.mkdir()
    marks = ids_of_marks(family)
    config = CONFIG | {"vocab_size": 320, "num_hidden_layers": 1, "max_position_embeddings": 2048,
                       "eos_token_id": marks[special[0]], "bos_token_id": None}
    write_safetensors(folder / "model.safetensors", tensor_shapes(config), random.Random(1))
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": template}))
    vocabulary = {letter: byte for byte, letter in byte_letters().items()}
    vocabulary |= {f"unused{i}": i for i in range(256 + len(marks), config["vocab_size"])}
    (folder / "tokenizer.json").write_text(json.dumps({
        "version": "1.0",
        "added_tokens": [{"id": number, "content": mark, "special": mark in special}
                         for mark, number in marks.items()],
        "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False, "use_regex": False},
        "decoder": {"type": "ByteLevel"},
        "model": {"type": "BPE", "vocab": vocabulary, "merges": []}}))
    return folder
