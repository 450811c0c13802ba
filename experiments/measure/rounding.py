#!/usr/bin/env python3
"""What the hidden split's integers cost in accuracy: the perplexity of the integer model, and of a small
model that is rounded as coarsely as one of wider matrices.

    rounding.py --slip build/release/slip --text FILE [--max-tokens T] [--seeds S] MODEL...

For each checkpoint it prints a JSON object: the perplexity in float32, by how many percent that of the
integer model differs ("integer", of the split's own sizes), and for each width of WIDTHS that of weights
rounded as at that width ("simulated", the model's own widths under "own"), and so if activations alone were
rounded ("activations"), which is the least that any better rounding of weights could leave. Of each the mean,
and the percents of S pairs of roundings. "own" beside "integer" shows what the simulation is worth.

At width n a row of W', and an activation, has a 2-norm of at most B(n), so that rounding its entries by
a variance of 1/12 is noise of n / (12 B(n)^2) of their mean square. A product errs by the sum of both,
which are taken for independent. So the simulation rounds rows alone, in steps that give twice the variance;
a seed draws where each row's steps begin. A pair adds and subtracts the same errors, so that in the mean what
is linear in them cancels, which is larger than the loss. A matrix wider than the table is split into equal
parts of columns (HIDE-7), each of which has the norm B of its class. Where the head is the embedding, the
embedding is rounded too, which the integer model does not do.
"""
import argparse
import array
import json
import math
import pathlib
import random
import shutil
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / 'experiments/hardness'))
import decoding  # noqa: E402

WIDTHS = (2048, 4096, 11008, 28672)
TRANSPOSED = ('c_attn.weight', 'c_proj.weight', 'c_fc.weight')  # GPT-2 stores these matrices transposed


def noise(n, norms):
    """n / B(n)^2, of a part where the table ends before n."""
    part = math.ceil(n / math.ceil(n / max(norms)))
    return part / norms[min(width for width in norms if width >= part)] ** 2


def read_checkpoint(path):
    """{name: (shape, array of doubles)} of a safetensors file of F16 or F32."""
    data = path.read_bytes()
    length, = struct.unpack_from('<Q', data)
    header = json.loads(data[8:8 + length])
    header.pop('__metadata__', None)
    tensors = {}
    for name, entry in header.items():
        first, last = (8 + length + at for at in entry['data_offsets'])
        code, size = {'F16': ('e', 2), 'F32': ('f', 4)}[entry['dtype']]
        values = struct.unpack_from(f'<{(last - first) // size}{code}', data, first)
        tensors[name] = (entry['shape'], array.array('d', values))
    return tensors


def write_checkpoint(path, tensors):
    header, chunks, at = {}, [], 0
    for name, (shape, values) in tensors.items():
        chunk = array.array('f', values).tobytes()
        header[name] = {'dtype': 'F32', 'shape': shape, 'data_offsets': [at, at + len(chunk)]}
        chunks.append(chunk)
        at += len(chunk)
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack('<Q', len(text)) + text + b''.join(chunks))


def round_row(row, square, start, sign):
    """In steps of this square times the row's mean square, which begin at `start` of a step; the errors with
    this sign."""
    step = math.sqrt(square * sum(x * x for x in row) / len(row))
    return [x + sign * (step * (round(x / step + start) - start) - x) for x in row] if step else row


def rounded(name, shape, values, square_at, head, draws, sign):
    """`values` with every output's row of n entries rounded in steps of square_at(n); as they are where the
    tensor is no matrix of a product. `head`: the embedding is one."""
    positions = 'embed_positions' in name or 'wpe' in name
    if len(shape) != 2 or positions or ('embed_tokens' in name and not head):
        return values
    rows, columns = shape
    result = array.array('d', values)
    if name.endswith(TRANSPOSED):
        for i in range(columns):
            row = round_row(values[i::columns], square_at(rows), draws.random(), sign)
            result[i::columns] = array.array('d', row)
    else:
        for i in range(rows):
            part = slice(i * columns, (i + 1) * columns)
            row = round_row(values[part], square_at(columns), draws.random(), sign)
            result[part] = array.array('d', row)
    return result


class Measured:
    """One model on one text."""

    def __init__(self, arguments, model, folder):
        self.arguments, self.model, self.folder = arguments, model, folder
        self.tensors = read_checkpoint(model / 'model.safetensors')
        self.tied = json.loads((model / 'config.json').read_text()).get('tie_word_embeddings', False)
        self.base = self.perplexity('--engine', 'float', '--model', model)

    def slip(self, *command):
        return subprocess.run([self.arguments.slip, *map(str, command)], check=True,
                              stdout=subprocess.PIPE).stdout

    def perplexity(self, *engine):
        return json.loads(self.slip('eval', *engine, '--text', self.arguments.text, '--max-tokens',
                                    self.arguments.max_tokens, '--json'))['perplexity']

    def percent(self, *engine):
        return 100 * (self.perplexity(*engine) / self.base - 1)

    def integer(self):
        split, audit = self.folder / 'split', self.folder / 'audit'
        self.slip('split', '--model', self.model, '--set', 'hidden', '--out', split, '--audit', audit)
        return self.percent('--engine', 'unsplit', '--artifact', split, '--audit', audit)

    def simulated(self, square_at):
        """Of a pair per seed."""
        pairs = [[self.once(seed, square_at, sign) for sign in (1, -1)]
                 for seed in range(self.arguments.seeds)]
        return {'mean': sum(map(sum, pairs)) / (2 * len(pairs)), 'pairs': pairs}

    def once(self, seed, square_at, sign):
        draws = random.Random(seed)
        copy = self.folder / 'rounded'
        shutil.rmtree(copy, ignore_errors=True)
        copy.mkdir()
        for path in self.model.iterdir():
            if path.suffix in ('.json', '.model'):
                (copy / path.name).write_bytes(path.read_bytes())
        write_checkpoint(copy / 'model.safetensors', {
            tensor: (shape, rounded(tensor, shape, values, square_at, self.tied, draws, sign))
            for tensor, (shape, values) in self.tensors.items()})
        return self.percent('--engine', 'float', '--model', copy)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n\n')[0])
    parser.add_argument('--slip', required=True)
    parser.add_argument('--text', required=True)
    parser.add_argument('--max-tokens', type=int, default=20000)
    parser.add_argument('--seeds', type=int, default=2)
    parser.add_argument('models', nargs='+', type=pathlib.Path, metavar='MODEL')
    arguments = parser.parse_args()
    norms = {row[0]: row[2] for row in decoding.read_table(decoding.TABLE)}
    for model in arguments.models:
        with tempfile.TemporaryDirectory() as folder:
            measured = Measured(arguments, model, pathlib.Path(folder))
            report = {'model': model.name, 'tokens': arguments.max_tokens, 'float': measured.base,
                      'integer': measured.integer()}
            for name, parts in (('simulated', 2), ('activations', 1)):
                report[name] = {'own': measured.simulated(lambda n, p=parts: p * noise(n, norms))}
                for width in WIDTHS:
                    report[name][width] = measured.simulated(lambda _, w=width, p=parts: p * noise(w, norms))
            print(json.dumps(report), flush=True)


if __name__ == '__main__':
    main()
