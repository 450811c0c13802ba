"""A trained model as a GGUF file: the same floats, the same text, and an integer model as good."""

import json
import struct
import unittest

from slip_system import SHARED, STORIES_TEXT, TINYSTORIES, SystemTest

U32, F32, BOOL, STRING, ARRAY = 4, 6, 7, 8, 9
F16_TENSOR, Q8_0_TENSOR = 1, 8
PLAIN_TENSORS = {"F32": 0, "F16": F16_TENSOR, "BF16": 30}

OUTER = {"model.embed_tokens": "token_embd", "model.norm": "output_norm", "lm_head": "output"}
INNER = {"input_layernorm": "attn_norm", "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k",
         "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
         "post_attention_layernorm": "ffn_norm", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm"}
# Golden checkpoints, and the architectures that llama.cpp counts them among.
GOLDENS = {"smollm2": "llama", "mistral-nemo": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}


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


def gguf_name(name):
    module, kind = name.rsplit(".", 1)
    if module in OUTER:
        return f"{OUTER[module]}.{kind}"
    _, _, block, part = module.split(".", 3)
    return f"blk.{block}.{INNER[part]}.{kind}"


def tokenizer(path):
    """The metadata of a SentencePiece model."""
    vocabulary = list(pieces(path))
    return [
        entry("tokenizer.ggml.model", STRING, "llama"),
        entry("tokenizer.ggml.tokens", STRING, [piece for piece, _, _ in vocabulary]),
        entry("tokenizer.ggml.scores", F32, [score for _, score, _ in vocabulary]),
        entry("tokenizer.ggml.token_type", U32, [kind for _, _, kind in vocabulary])]


def configuration(config, architecture):
    """The metadata of config.json."""
    numbers = {"context_length": "max_position_embeddings", "embedding_length": "hidden_size",
               "block_count": "num_hidden_layers", "feed_forward_length": "intermediate_size",
               "attention.head_count": "num_attention_heads",
               "attention.head_count_kv": "num_key_value_heads", "attention.key_length": "head_dim"}
    metadata = [entry("general.architecture", STRING, architecture), entry("general.name", STRING, "a test")]
    metadata += [entry(f"{architecture}.{key}", U32, config[name]) for key, name in numbers.items()
                 if config.get(name) is not None]
    metadata += [entry(f"{architecture}.{key}", F32, config[name])
                 for key, name in (("attention.layer_norm_rms_epsilon", "rms_norm_eps"),
                                   ("rope.freq_base", "rope_theta"))]
    return metadata + [entry(f"tokenizer.ggml.{name}", U32, config[name])
                       for name in ("bos_token_id", "eos_token_id") if isinstance(config.get(name), int)]


def converted(model, architecture="llama", quantised=()):
    """The GGUF file of a directory in its own element types; matrices of a kind in `quantised` in Q8_0."""
    config = json.loads((model / "config.json").read_text())
    heads = {"q_proj": config["num_attention_heads"], "k_proj": config["num_key_value_heads"]}
    metadata = configuration(config, architecture)
    if (model / "tokenizer.model").exists():
        metadata += tokenizer(model / "tokenizer.model")
    table, data = b"", b""
    count = 0
    for name, (dtype, shape, values) in tensors(model / "model.safetensors"):
        kind = name.split(".")[-2]
        if kind in heads and architecture == "llama":
            values = interleaved(values, shape[0], heads[kind])
        element = Q8_0_TENSOR if kind in quantised else PLAIN_TENSORS[dtype]
        table += text(gguf_name(name)) + struct.pack("<I", len(shape))
        table += b"".join(struct.pack("<Q", extent) for extent in reversed(shape))
        table += struct.pack("<IQ", element, len(data))
        data += q8_0(values) if kind in quantised else values
        data += bytes(-len(data) % 32)
        count += 1
    head = b"GGUF" + struct.pack("<IQQ", 3, count, len(metadata)) + b"".join(metadata) + table
    return head + bytes(-len(head) % 32) + data


@unittest.skipUnless(STORIES_TEXT.exists(), f"the text is absent: {STORIES_TEXT}")
class Gguf(SystemTest):
    def perplexity(self, *engine):
        out = self.slip("eval", *engine, "--text", STORIES_TEXT, "--max-tokens", "1500", "--json").stdout
        return json.loads(out)

    def file(self, name, **options):
        path = self.folder / name
        path.write_bytes(converted(TINYSTORIES, **options))
        return path

    def test_MODEL_19_a_trained_model_in_F16(self):
        path = self.file("model.gguf")
        expected = self.perplexity("--model", TINYSTORIES, "--engine", "float")
        floats = self.perplexity("--model", path, "--engine", "float")
        self.assertEqual(floats, expected)
        self.assertIn("tensors", self.slip("check", path).stdout)
        out = self.folder / "split"
        self.slip("split", "--model", path, "--rank", "16", "--out", out)
        self.assertTrue((out / "charlie/tokenizer.json").exists())
        integers = self.perplexity("--artifact", out, "--engine", "unsplit")
        self.assertEqual(integers["tokens"], floats["tokens"])
        self.assertLess(abs(integers["perplexity"] / floats["perplexity"] - 1), 0.005)
        said = [json.loads(self.slip("generate", *engine, "--prompt", "Once upon a time", "--max-tokens",
                                     "20", "--json").stdout)
                for engine in (("--artifact", out, "--engine", "unsplit"),
                               ("--artifact", out, "--engine", "hybrid"))]
        self.assertEqual(said[0]["ids"], said[1]["ids"])
        self.assertTrue(said[0]["text"].startswith(", there was a"), said[0]["text"])

    def test_MODEL_19_MODEL_13_a_golden_of_each_architecture(self):
        for name, architecture in GOLDENS.items():
            model = SHARED / "data/models" / name
            path = self.folder / f"{name}.gguf"
            path.write_bytes(converted(model, architecture))
            ids = ",".join(map(str, json.loads((model / "golden_logits.json").read_text())["ids"]))
            logits = [self.generate(name, "--model", source, "--engine", "float", "--ids", ids,
                                    "--max-tokens", "4")[1] for source in (model, path)]
            self.assertEqual(logits[0], logits[1], name)

    def test_DECO_13_MODEL_19_Q8_0_is_split_if_its_grid_is_accepted(self):
        path = self.file("model-q8.gguf", quantised={"down_proj"})
        plan = ("split", "--model", path, "--rank", "16", "--out", self.folder / "q8")
        self.refused(*plan, says=["ffn_down.weight", "Q8_0", "--accept-grid"])
        self.slip(*plan, "--accept-grid")
        floats = self.perplexity("--model", path, "--engine", "float")
        exact = self.perplexity("--model", TINYSTORIES, "--engine", "float")
        self.assertNotEqual(floats, exact)
        self.assertLess(abs(floats["perplexity"] / exact["perplexity"] - 1), 0.02)


if __name__ == "__main__":
    unittest.main()
