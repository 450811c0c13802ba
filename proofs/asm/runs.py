"""The runs that prove the kernels: their sizes and what they are of."""

import math
import os
import re

import arg_max
import avx2_products
import combinations
import encoding
import exponents
import factors
import float_attention
import float_norms
import float_rows
import layouts
import left_layouts
import linear
import outer_products
import panels
import portable_outer
import portable_products
import products
import residues
import softmax


# A product with more weights and planes than this takes minutes: it is left to ./test --full.
EVERYDAY = 40_000


def is_due(sizes):
    """Whether a row of these sizes runs: with SLIP_FULL all do."""
    cost = math.prod(int(number) for number in re.findall(r"=(\d+)", sizes))
    return bool(os.environ.get("SLIP_FULL")) or cost <= EVERYDAY


ANY = "any size"
X86 = "portable", "avx2", "avx512"  # the processor's backends
FLOATS = float_rows, float_norms, softmax, arg_max, float_attention


def fixed_sizes(text):
    """{name: number} of "n=5 planes=4"."""
    return {name: int(number) for name, number in re.findall(r"(\w+)=(\d+)", text)}


def runs():
    """(backend, kernel, sizes, function(image, run)) of those that are due. Several runs together are a
    kernel's proof: its vector loop, its remainders, a padded panel."""
    return [row for row in all_runs() if is_due(row[2])]


def all_runs():
    table = []

    def add(backend, kernel, sizes, function, *arguments):
        table.append((backend, kernel, sizes,
                      lambda image, run: function(image, run, backend, *arguments)))
    add_residues(add)
    add_layouts(add)
    add_products(add)
    add_factors(add)
    # AVX2 has less than 4 elements, or 8 of quantise, done by the portable kernel.
    for backend, converted in (("portable", [encoding.by_instruction]), ("avx512", [encoding.by_instruction]),
                               ("avx2", [encoding.by_halves, encoding.by_instruction])):
        add(backend, "dequantise", ANY, encoding.dequantise, converted)
    for backend, rounded in (("portable", [encoding.by_shift]), ("avx512", [encoding.by_conversion]),
                             ("avx2", [encoding.by_rounding, encoding.by_shift])):
        add(backend, "quantise", ANY, encoding.quantise, rounded)
    for module in FLOATS:
        module.add_rows(add, X86)
    return table


def add_residues(add):
    """Those of listed sizes: whole registers, and what is left."""
    for backend in ("portable", "avx2", "avx512"):
        add(backend, "mask", ANY, residues.mask)
        add(backend, "unmask", ANY, residues.unmask)
        add(backend, "below", ANY, residues.below_prime)
    for backend, sizes in (("portable", (21,)), ("avx512", (21, 69))):
        add(backend, "sample", "n=4", residues.sample_in_place, 4)
        for n in sizes:
            add(backend, "sample", f"n={n}", residues.sample, n)
    # Chunks, each taken whole or not, and the blocks that are left.
    for backend, sizes in (("avx2", (3, 19)), ("avx512", (3, 37))):
        for blocks in sizes:
            add(backend, "expand", f"blocks={blocks}", residues.expand, blocks)
        add(backend, "aes256_schedule", "", residues.aes256_schedule)


def add_layouts(add):
    """How large layouts are, and those that are copies; what pack and pack_left of the others leave is proved
    with the products."""
    for backend, kernel in layouts.BYTES:
        if backend != "neon":
            add(backend, kernel, ANY, layouts.bytes_of, kernel)
    add("portable", "pack", ANY, layouts.pack)
    add("portable", "pack_right", ANY, layouts.pack_right)


def add_products(add):
    """What is below a product is proved too, and so are the panels that it reads."""
    for backend in ("avx2", "avx512"):
        add(backend, "pack_panel", ANY, panels.panel)
        add(backend, "pack", ANY, panels.pack)
    for backend in ("portable", "avx2", "avx512"):
        add(backend, "combine", ANY, linear.combine_of_blocks)
    add("portable", "pack_entries", ANY, combinations.entries)
    add("portable", "pack_combinations", ANY, combinations.pack)
    for vectors in (1, 2, 3, 4):
        add("avx2", f"multiply_panel_by_{vectors}", ANY, linear.panel_of_pairs, vectors)
        add("avx2", f"multiply_pass<{vectors}>", ANY, avx2_products.multiply_pass, vectors)
    for function in ("widen_plane", "join_pair", "join_planes", "finish_plane", "multiply_block"):
        add("avx2", function, ANY, getattr(avx2_products, function))
    for planes in (1, 4, 5):
        add("avx512", f"multiply_panel_by_{planes}", ANY, linear.panel_of_bytes, planes)
        add("avx512", f"multiply_block<{planes}>", ANY, products.block, planes)
    add("avx512", "finish", ANY, products.finish)
    portable_products.add_rows(add)
    for kernel in ("gemm", "gemm_plane"):
        add("avx2", kernel, ANY, avx2_products.gemm, kernel)
        add("avx512", kernel, ANY, products.gemm, kernel)


def add_factors(add):
    """The low rank part."""
    for backend in ("portable", "avx2"):
        add(backend, "low_rank_inner", ANY, linear.inner_of_rows)
    add("avx512", "low_rank_inner", ANY, factors.inner_of_slices)
    add("avx512", "pack_slice", ANY, factors.slice_of_right)
    add("avx512", "pack_right", ANY, factors.right_of_slices)
    portable_outer.add_rows(add)
    add("portable", "least_exponent", ANY, exponents.exponents)
    add("portable", "shift_row", ANY, exponents.rows)
    add("portable", "pack_left", ANY, exponents.pack)
    left_layouts.add_rows(add)
    outer_products.add_runs(add)
