"""The LLaMA family on a session: the clauses MODEL-1 to MODEL-3. Floats are Python's, rounded to
binary32 where they enter a group; the nonlinear functions are not normative (MODEL-5)."""

import math

from . import encoding, linear


class Llama:
    def __init__(self, artifact, charlie):
        self.groups, self.charlie = artifact.groups, charlie
        config, tensors = artifact.config, artifact.tensors
        self.blocks = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.kv_heads = config.get("num_key_value_heads", self.heads)
        self.d_h = config.get("head_dim") or config["hidden_size"] // self.heads
        self.epsilon = config["rms_norm_eps"]
        self.theta = config.get("rope_theta", 10000.0)
        self.embedding = tensors.matrix("model.embed_tokens.weight")
        self.norms = [(tensors.flat(f"model.layers.{i}.input_layernorm.weight"),
                       tensors.flat(f"model.layers.{i}.post_attention_layernorm.weight"))
                      for i in range(self.blocks)]
        self.final_norm = tensors.flat("model.norm.weight")
        self.cache = [([], []) for _ in range(self.blocks)]  # rotated keys, and values, by token

    def logits(self, tokens):
        """Those behind the last of the new tokens, which follow what is in the cache."""
        first = len(self.cache[0][0])
        h = [list(self.embedding[token]) for token in tokens]
        for block in range(self.blocks):
            attended = self.attention(block, self.normalised(h, self.norms[block][0]), first)
            h = added(h, self.apply(4 * block + 1, attended)[0])
            gate, up = self.apply(4 * block + 2, self.normalised(h, self.norms[block][1]))
            inner = [[silu(g) * u for g, u in zip(*pair)] for pair in zip(gate, up)]
            h = added(h, self.apply(4 * block + 3, inner)[0])
        return self.apply(4 * self.blocks, self.normalised(h[-1:], self.final_norm))[0][0]

    def apply(self, group_id, tokens):
        """LIN-1 to LIN-4: one exchange; a list of outputs, by token, for each member."""
        group = self.groups[group_id]
        quantised = [encoding.quantise([encoding.float32(x) for x in token], group.activation_norm)
                     for token in tokens]
        y_D = self.charlie.apply(group_id, [q for q, _ in quantised])
        outputs, first = [], 0
        for member in group.members:
            last = first + member.m
            outputs.append([encoding.dequantise(member.integers(q, y[first:last]), member.row_scale, scale)
                            for (q, scale), y in zip(quantised, y_D)])
            first = last
        return outputs

    def normalised(self, tokens, weight):
        """RMSNorm."""
        result = []
        for token in tokens:
            scale = 1 / math.sqrt(sum(x * x for x in token) / len(token) + self.epsilon)
            result.append([x * scale * w for x, w in zip(token, weight)])
        return result

    def attention(self, block, tokens, first):
        """The heads of every token, one below the other."""
        queries, keys, values = self.apply(4 * block, tokens)
        kept_keys, kept_values = self.cache[block]
        for position, (key, value) in enumerate(zip(keys, values), first):
            kept_keys.append(self.rotated(key, position))
            kept_values.append(value)
        return [self.attend(self.rotated(query, position), kept_keys[:position + 1],
                            kept_values[:position + 1])
                for position, query in enumerate(queries, first)]

    def attend(self, query, keys, values):
        output = []
        for head in range(self.heads):
            own = slice(head * self.d_h, (head + 1) * self.d_h)
            shared = head * self.kv_heads // self.heads
            theirs = slice(shared * self.d_h, (shared + 1) * self.d_h)
            scores = [linear.dot(query[own], key[theirs]) / math.sqrt(self.d_h) for key in keys]
            top = max(scores)
            weights = [math.exp(score - top) for score in scores]
            total = sum(weights)
            for column in zip(*(value[theirs] for value in values)):
                output.append(linear.dot(weights, column) / total)
        return output

    def rotated(self, vector, position):
        """RoPE: entry i of a head is paired with entry i + d_h / 2."""
        half = self.d_h // 2
        result = list(vector)
        for start in range(0, len(vector), self.d_h):
            for i in range(half):
                angle = position * self.theta ** (-2 * i / self.d_h)
                x, y = vector[start + i], vector[start + half + i]
                result[start + i] = x * math.cos(angle) - y * math.sin(angle)
                result[start + half + i] = y * math.cos(angle) + x * math.sin(angle)
        return result


def silu(x):
    """x / (1 + e^-x), without overflow."""
    return x / (1 + math.exp(-x)) if x >= 0 else x * math.exp(x) / (1 + math.exp(x))


def added(left, right):
    return [[x + y for x, y in zip(*pair)] for pair in zip(left, right)]


def generate(model, ids, max_tokens, end):
    """The likeliest continuation, up to the token `end`, which is not part of it."""
    result, tokens = [], list(ids)
    while len(result) < max_tokens:
        logits = model.logits(tokens)
        best = max(range(len(logits)), key=logits.__getitem__)
        if best == end:
            break
        result.append(best)
        tokens = [best]
    return result
