"""GGUF files: a trained model with the same floats, the same text, and an integer model as good; and the
golden logits of each architecture."""
# test: once

import json
import math
import os
import re
import struct
import unittest

from slip_system import SHARED, STORIES_TEXT, TINYSTORIES, SystemTest, run

U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
ELEMENTS = {"F32": 0, "F16": 1, "Q8_0": 8, "BF16": 30}

OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output",
         "model.final_layernorm": "output_norm", "transformer.wte": "token_embd",
         "transformer.wpe": "position_embd", "transformer.ln_f": "output_norm"}
LLAMA = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
GEMMA = LLAMA | {"post_attention_layernorm": "post_attention_norm", "pre_feedforward_layernorm": "ffn_norm",
                 "post_feedforward_layernorm": "post_ffw_norm"}
# Names of the modules of a block, where they are not LLaMA's.
INNER = {"gemma2": GEMMA, "gemma3": GEMMA,
         "phi3": LLAMA | {"self_attn.qkv_proj": "attn_qkv", "mlp.gate_up_proj": "ffn_up"},
         "phi2": LLAMA | {"self_attn.dense": "attn_output", "mlp.fc1": "ffn_up", "mlp.fc2": "ffn_down"},
         "gpt2": {"ln_1": "attn_norm", "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output",
                  "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down"}}
# Golden checkpoints, and the architectures that llama.cpp counts them among. It does not tell Mistral's
# window, and of Llama 3 only the frequencies (gguf_test.cpp).
GOLDENS = {"smollm2": "llama", "mistral-nemo": "llama", "qwen2": "qwen2", "qwen3": "qwen3", "phi3": "phi3",
           "phi3-longrope": "phi3", "phi4-mini": "phi3", "gemma2": "gemma2", "gemma3": "gemma3",
           "gpt-nano-sort": "gpt2", "phi-synthetic": "phi2"}
# The names of one thing in config.json.
NUMBERS = {"context_length": ("max_position_embeddings", "n_positions"),
           "embedding_length": ("hidden_size", "n_embd"), "block_count": ("num_hidden_layers", "n_layer"),
           "feed_forward_length": ("intermediate_size",),
           "attention.head_count": ("num_attention_heads", "n_head"),
           "attention.head_count_kv": ("num_key_value_heads",), "attention.key_length": ("head_dim",)}
REALS = {"attention.layer_norm_rms_epsilon": ("rms_norm_eps",),
         "attention.layer_norm_epsilon": ("layer_norm_eps", "layer_norm_epsilon"),
         "attn_logit_softcapping": ("attn_logit_softcapping",),
         "final_logit_softcapping": ("final_logit_softcapping",)}


def text(value):
    data = value.encode()
    return struct.pack("<Q", len(data)) + data


def scalar(kind, value):
    return {U32: lambda: struct.pack("<I", value), F32: lambda: struct.pack("<f", value),
            BOOL: lambda: struct.pack("<B", value), STRING: lambda: text(value)}[kind]()


def entry(key, kind, value):
    if isinstance(value, list):
        return (text(key) + struct.pack("<IIQ", ARRAY, kind, len(value)) +
                b"".join(scalar(kind, element) for element in value))
    return text(key) + struct.pack("<I", kind) + scalar(kind, value)


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of the fields of a protocol buffer."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[key & 7]
            value, at = data[at:at + size], at + size
        yield key >> 3, value


def pieces(model):
    """(text, score, kind) of the pieces of a SentencePiece model; kinds have GGUF's numbers."""
    for number, value in fields(model.read_bytes()):
        if number == 1:
            piece = dict(fields(value))
            yield (piece[1].decode(), struct.unpack("<f", piece.get(2, bytes(4)))[0], piece.get(3, 1))


def tensors(path):
    """name -> (dtype, shape, bytes) of a safetensors file."""
    data = path.read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    header.pop("__metadata__", None)
    for name, tensor in header.items():
        begin, end = (8 + size + offset for offset in tensor["data_offsets"])
        yield name, (tensor["dtype"], tensor["shape"], data[begin:end])


def interleaved(data, rows, heads):
    """The rows as llama.cpp's converter leaves those of queries and keys: s w/2 + j goes to 2 j + s."""
    size, width = len(data) // rows, rows // heads
    order = [head * width + s * width // 2 + j
             for head in range(heads) for j in range(width // 2) for s in range(2)]
    return b"".join(data[row * size:(row + 1) * size] for row in order)


def q8_0(halves):
    """Blocks of 32 values: a scale and so many integers."""
    values = [value for (value,) in struct.iter_unpack("<e", halves)]
    blocks = []
    for at in range(0, len(values), 32):
        block = values[at:at + 32]
        scale = max(map(abs, block)) / 127 or 1.0
        blocks.append(struct.pack("<e32b", scale, *(max(-127, min(127, round(value / scale)))
                                                    for value in block)))
    return b"".join(blocks)


def gguf_name(name, architecture):
    module, kind = name.rsplit(".", 1)
    if module in OUTER:
        return f"{OUTER[module]}.{kind}"
    block, part = re.fullmatch(r"(?:model\.layers|transformer\.h)\.(\d+)\.(.*)", module).groups()
    return f"blk.{block}.{INNER.get(architecture, LLAMA)[part]}.{kind}"


def floats(dtype, values):
    if dtype == "BF16":
        values = b"".join(b"\0\0" + values[at:at + 2] for at in range(0, len(values), 2))
    return [value for (value,) in struct.iter_unpack("<f", values)]


def raw(values):
    return struct.pack(f"<{len(values)}f", *values)


def changed(name, dtype, shape, values, config, architecture):
    """A tensor as llama.cpp's converter leaves it: (dtype, shape, bytes)."""
    kind = name.split(".")[-2]
    if architecture == "llama" and kind in ("q_proj", "k_proj"):
        heads = config["num_attention_heads" if kind == "q_proj" else "num_key_value_heads"]
        return dtype, shape, interleaved(values, shape[0], heads)
    if architecture == "gpt2" and len(shape) == 2 and ".h." in name:
        rows, columns = shape
        numbers = floats(dtype, values)
        return dtype, [columns, rows], raw([numbers[i * columns + j] for j in range(columns)
                                            for i in range(rows)])
    if architecture in ("gemma2", "gemma3"):
        # The format has no query_pre_attn_scalar: what takes its place is the width of a head.
        stretch = math.sqrt(config["head_dim"] / config["query_pre_attn_scalar"])
        if name.endswith("norm.weight"):
            factor = stretch if kind == "q_norm" else 1
            return "F32", shape, raw([(1 + value) * factor for value in floats(dtype, values)])
        if architecture == "gemma2" and kind == "q_proj":
            return "F32", shape, raw([value * stretch for value in floats(dtype, values)])
    return dtype, shape, values


def tokenizer(path):
    """The metadata of a SentencePiece model."""
    vocabulary = list(pieces(path))
    return [
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.tokens", STRING, [piece for piece, _, _ in vocabulary]),
        entry("tokenizer.ggml.scores", F32, [score for _, score, _ in vocabulary]),
        entry("tokenizer.ggml.token_type", U32, [kind for _, _, kind in vocabulary])]


def rotation(config, architecture):
    """What the metadata says of RoPE, the window, and what belongs to neither."""
    metadata = []
    if "rope_theta" in config and architecture not in ("gemma2", "phi2"):
        metadata.append(("rope.freq_base", F32, config["rope_theta"]))
    if architecture in ("phi2", "phi3"):
        turned = int(config.get("partial_rotary_factor", 1) * config["hidden_size"])
        metadata.append(("rope.dimension_count", U32, turned // config["num_attention_heads"]))
    if architecture in ("phi3", "gemma2", "gemma3"):
        metadata.append(("attention.sliding_window", U32, config["sliding_window"] or 0))
    if architecture == "phi3":
        original = config.get("original_max_position_embeddings", config["max_position_embeddings"])
        metadata.append(("rope.scaling.original_context_length", U32, original))
        if config.get("rope_scaling"):
            growth = config["max_position_embeddings"] / original
            metadata.append(("rope.scaling.attn_factor", F32,
                             math.sqrt(1 + math.log(growth) / math.log(original))))
    if architecture == "gemma3":
        metadata += [("rope.freq_base_swa", F32, config["rope_local_base_freq"]),
                     ("rope.scaling.type", STRING, "linear"),
                     ("rope.scaling.factor", F32, config["rope_scaling"]["factor"])]
    return metadata


def configuration(config, architecture):
    """The metadata of config.json."""
    found = rotation(config, architecture)
    for kind, names in ((U32, NUMBERS), (F32, REALS)):
        found += [(key, kind, config[name]) for key, choices in names.items() for name in choices
                  if config.get(name) is not None]
    if architecture == "gpt2":
        found.append(("feed_forward_length", U32, 4 * config["n_embd"]))
    metadata = [entry("general.architecture", STRING, architecture), entry("general.name", STRING, "a test")]
    metadata += [entry(f"{architecture}.{key}", kind, value) for key, kind, value in found]
    return metadata + [entry(f"tokenizer.ggml.{name}", U32, config[name])
                       for name in ("bos_token_id", "eos_token_id") if isinstance(config.get(name), int)]


def factors(config, architecture):
    """The tensors that hold longrope's factors."""
    if architecture != "phi3" or not config.get("rope_scaling"):
        return []
    return [(f"rope_factors_{length}.weight", "F32", [len(config["rope_scaling"][f"{length}_factor"])],
             raw(config["rope_scaling"][f"{length}_factor"])) for length in ("long", "short")]


def converted(model, architecture="llama", quantised=()):
    """The GGUF file of a folder in its own element types; matrices of a kind in `quantised` in Q8_0."""
    config = json.loads((model / "config.json").read_text())
    metadata = configuration(config, architecture)
    if (model / "tokenizer.model").exists():
        metadata += tokenizer(model / "tokenizer.model")
    stored = factors(config, architecture)
    for name, (dtype, shape, values) in tensors(model / "model.safetensors"):
        dtype, shape, values = changed(name, dtype, shape, values, config, architecture)
        if name.split(".")[-2] in quantised:
            dtype, values = "Q8_0", q8_0(values)
        stored.append((gguf_name(name, architecture), dtype, shape, values))
    table, data = b"", b""
    for name, dtype, shape, values in stored:
        table += text(name) + struct.pack("<I", len(shape))
        table += b"".join(struct.pack("<Q", extent) for extent in reversed(shape))
        table += struct.pack("<IQ", ELEMENTS[dtype], len(data))
        data += values + bytes(-len(values) % 32)
    head = b"GGUF" + struct.pack("<IQQ", 3, len(stored), len(metadata)) + b"".join(metadata) + table
    return head + bytes(-len(head) % 32) + data


@unittest.skipUnless(STORIES_TEXT.exists(), f"the text is absent: {STORIES_TEXT}")
class Gguf(SystemTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.text = cls.folder / "text"
        cls.text.write_text(STORIES_TEXT.read_text()[:40_000])  # what is beyond would be tokenized in vain
        cls.exact = cls.perplexity("--model", TINYSTORIES, "--engine", "float")

    @classmethod
    def perplexity(cls, *engine, tokens=1500):
        result = run("slip", "eval", *engine, "--text", cls.text, "--max-tokens", tokens, "--json")
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    def file(self, name, **options):
        path = self.folder / name
        path.write_bytes(converted(TINYSTORIES, **options))
        return path

    def test_MODEL_19_a_trained_model_in_F16(self):
        path = self.file("model.gguf")
        floats = self.perplexity("--model", path, "--engine", "float")
        self.assertEqual(floats, self.exact)
        self.assertIn("tensors", self.slip("check", path).stdout)
        out = self.folder / "split"
        self.slip("split", "--model", path, "--rank", "16", "--out", out)
        # The same tokenizer beside the checkpoint, in place of SentencePiece's file.
        beside = self.folder / "beside"
        beside.mkdir()
        for source in (out / "charlie/tokenizer.json", TINYSTORIES / "config.json",
                       TINYSTORIES / "model.safetensors"):
            (beside / source.name).symlink_to(source)
        self.assertEqual(*(self.perplexity("--model", model, "--engine", "float", tokens=200)
                           for model in (TINYSTORIES, beside)))
        integers = self.perplexity("--artifact", out, "--engine", "unsplit")
        self.assertEqual(integers["tokens"], floats["tokens"])
        self.assertLess(abs(integers["perplexity"] / floats["perplexity"] - 1), 0.005)
        said = [json.loads(self.slip("generate", *engine, "--prompt", "Once upon a time", "--max-tokens",
                                     "20", "--json").stdout)
                for engine in (("--artifact", out, "--engine", "unsplit"),
                               ("--artifact", out, "--engine", "hybrid"))]
        self.assertEqual(said[0]["ids"], said[1]["ids"])
        self.assertTrue(said[0]["text"].startswith(", there was a"), said[0]["text"])

    def test_MODEL_19_MODEL_13_the_goldens_of_each_architecture(self):
        for name, architecture in GOLDENS.items():
            model = SHARED / "data/models" / name
            path = self.folder / f"{name}.gguf"
            path.write_bytes(converted(model, architecture))
            golden = json.loads((model / "golden_logits.json").read_text())
            more = golden.get("more", [])
            for prompt in [golden] + (more if "SLIP_FULL" in os.environ else more[-1:]):
                found = json.loads(self.slip("forward", "--model", path, "--engine", "float", "--ids",
                                             ",".join(map(str, prompt["ids"])), "--json").stdout)["logits"]
                most = max(abs(logit) for row in prompt["logits"] for logit in row)
                worst = max(abs(a - b) for rows in zip(found, prompt["logits"], strict=True)
                            for a, b in zip(*rows, strict=True))
                self.assertLessEqual(worst, 1e-4 * most, (name, len(prompt["ids"])))

    def test_DECO_13_MODEL_19_Q8_0_is_split_if_its_grid_is_accepted(self):
        path = self.file("model-q8.gguf", quantised={"down_proj"})
        plan = ("split", "--model", path, "--rank", "16", "--out", self.folder / "q8")
        self.refused(*plan, says=["ffn_down.weight", "Q8_0", "--accept-grid"])
        self.slip(*plan, "--accept-grid")
        floats = self.perplexity("--model", path, "--engine", "float")
        self.assertNotEqual(floats, self.exact)
        self.assertLess(abs(floats["perplexity"] / self.exact["perplexity"] - 1), 0.02)


if __name__ == "__main__":
    unittest.main()
