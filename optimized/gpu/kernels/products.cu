// David's product on a GPU: Y = W X mod L (LIN-1, MASK-3, HIDE-1), on the tensor cores of sm_80 and
// later. CUDA C++ for clang, which needs no CUDA installation for it; ptx.cmake embeds the PTX.
//
// The tensor cores multiply fragments of 16 x 32 bytes of W and 32 x 8 bytes of X. Of four lanes
// that share a row of a fragment, the instruction expects lane t to hold columns 4t..4t+3 and
// 16+4t..16+4t+3. A sum does not depend on the order of its terms, so lane t holds 16 columns that
// lie together instead, 16t..16t+15 of a step of 64, of W and X alike: two fragments in one load of
// 16 bytes, and no lane waits for another one's bank of shared memory.
#include "optimized/gpu/work.hpp"

#define KERNEL(threads, blocks) \
    extern "C" __attribute__((global)) __attribute__((launch_bounds(threads, blocks))) void
#define DEVICE static inline __attribute__((device, always_inline))
#define SHARED __attribute__((shared))

using namespace slip::gpu;
using Bytes = GlobalPointer<const unsigned char>;
using Bytes16 __attribute__((vector_size(16))) = unsigned;  // four words of four bytes
using Shared16 = Bytes16 __attribute__((address_space(3)));

DEVICE unsigned prime_of(const Work& work, unsigned vector) {
    return static_cast<unsigned>(work.primes >> vector % work.planes * 8) & 0xffU;
}

/// value mod prime. The quotient by Barrett is the right one or one less.
DEVICE unsigned reduced(unsigned value, unsigned prime) {
    const unsigned quotient = __nvvm_mulhi_ui(value, 0xffffffffU / prime);
    const unsigned rest = value - quotient * prime;
    return rest >= prime ? rest - prime : rest;
}

/// sum mod prime, canonical: the sum is first made positive by a multiple of the prime.
DEVICE unsigned residue(int sum, unsigned prime) {
    const unsigned shift = (largest_sum / prime + 1) * prime;
    return reduced(static_cast<unsigned>(sum) + shift, prime);
}

/// sums += the product of two fragments. Words of W: rows g and g + 8, then both 16 columns on.
DEVICE void multiply(int (&sums)[4], unsigned w0, unsigned w1, unsigned w2, unsigned w3,
                     unsigned x0, unsigned x1) {
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32 "
        "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+r"(sums[0]), "+r"(sums[1]), "+r"(sums[2]), "+r"(sums[3])
        : "r"(w0), "r"(w1), "r"(w2), "r"(w3), "r"(x0), "r"(x1));
}

/// A whole step: 16 columns per lane of rows g and g + 8 of W, and of vector g of X.
DEVICE void multiply_step(int (&sums)[4], Bytes16 upper, Bytes16 lower, Bytes16 x) {
    multiply(sums, upper[0], lower[0], upper[1], lower[1], x[0], x[1]);
    multiply(sums, upper[2], lower[2], upper[3], lower[3], x[2], x[3]);
}

DEVICE unsigned smaller(unsigned a, unsigned b) { return a < b ? a : b; }
DEVICE unsigned thread() { return static_cast<unsigned>(__nvvm_read_ptx_sreg_tid_x()); }
DEVICE unsigned lane() { return thread() % 32; }
DEVICE unsigned warp() { return thread() / 32; }
DEVICE unsigned block_x() { return static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_x()); }
DEVICE unsigned block_y() { return static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_y()); }
DEVICE unsigned block_z() { return static_cast<unsigned>(__nvvm_read_ptx_sreg_ctaid_z()); }
/// Of the matrices each is multiplied by blocks of its own, and each of its splits.
DEVICE unsigned matrix_of_block(const Work& work) { return block_z() / work.splits; }
DEVICE unsigned split_of_block(const Work& work) { return block_z() % work.splits; }

/// The product of one of the matrices. The splits' residues are still those of all of them.
DEVICE Work of_matrix(Work work, unsigned matrix) {
    const unsigned long long vectors = static_cast<unsigned long long>(matrix) * work.vectors;
    const unsigned long long rows_above = static_cast<unsigned long long>(matrix) * work.rows_above;
    const unsigned long long rows = static_cast<unsigned long long>(matrix) * work.rows;
    work.w += rows_above * work.stride;
    work.below += (rows - rows_above) * work.stride;
    work.x += vectors * work.stride;
    work.partial += vectors * work.rows;
    work.primes >>= matrix * 8;
    return work;
}

DEVICE Bytes16 load(Bytes from) {
    Bytes16 value;
    asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value[0]), "=r"(value[1]), "=r"(value[2]), "=r"(value[3])
        : "l"(from));
    return value;
}

DEVICE Bytes16 load_cached(Bytes from) {
    return *reinterpret_cast<GlobalPointer<const Bytes16>>(from);
}

/// The tile of W that has a step of row_tile rows.
DEVICE Bytes tile(const Work& work, unsigned row_tiles, unsigned at_step) {
    const unsigned long long steps = work.stride / step;
    const unsigned above = work.rows_above / row_tile;
    return row_tiles < above ? work.w + (row_tiles * steps + at_step) * tile_bytes
                             : work.below + ((row_tiles - above) * steps + at_step) * tile_bytes;
}

/// Where a split's residues of a vector lie.
DEVICE GlobalPointer<unsigned char> residues(const Work& work, unsigned split, unsigned vector) {
    const unsigned long long all = static_cast<unsigned long long>(work.matrices) * work.vectors;
    return work.partial + (split * all + vector) * work.rows;
}

/// Up to 8 vectors: one column in all its planes, or 8 in one. W is read once, from memory to
/// registers. The 8 warps of a block share the steps of 16 rows.
DEVICE void multiply_narrow(const Work& work) {
    constexpr unsigned warps = narrow_threads / 32, ahead = 4;
    const unsigned g = lane() / 4, t = lane() % 4;
    const unsigned first_row = block_x() * narrow_rows;
    const unsigned split = split_of_block(work);
    const unsigned begin = split * work.steps_per_split;
    const unsigned end = smaller(begin + work.steps_per_split, work.stride / step);
    const Bytes w =
        tile(work, first_row / row_tile, 0) + (first_row % row_tile + g) * step + t * 16;
    const Bytes x = work.x +
                    static_cast<unsigned long long>(smaller(g, work.vectors - 1)) * work.stride +
                    t * 16;
    int sums[4] = {};
    for (unsigned first = begin + warp(); first < end; first += ahead * warps) {
        Bytes16 upper[ahead], lower[ahead], columns[ahead];
#pragma unroll
        for (unsigned i = 0; i < ahead; ++i) {  // all loads before their first use
            const unsigned long long at = first + i * warps;
            upper[i] = lower[i] = columns[i] = Bytes16{};
            if (at < end) {
                upper[i] = load(w + at * tile_bytes);
                lower[i] = load(w + at * tile_bytes + 8 * step);
                columns[i] = load_cached(x + at * step);
            }
        }
#pragma unroll
        for (unsigned i = 0; i < ahead; ++i) {
            multiply_step(sums, upper[i], lower[i], columns[i]);
        }
    }
    // Lane 4g + t has the sums of rows g and g + 8, vectors 2t and 2t + 1.
    static SHARED unsigned parts[warps][narrow_vectors][narrow_rows];
#pragma unroll
    for (unsigned i = 0; i < 4; ++i) {
        const unsigned vector = t * 2 + i % 2;
        parts[warp()][vector][g + i / 2 * 8] = residue(sums[i], prime_of(work, vector));
    }
    __syncthreads();
    const unsigned vector = thread() / narrow_rows;
    const unsigned row = thread() % narrow_rows;
    if (vector >= smaller(work.vectors, narrow_vectors)) return;
    unsigned sum = 0;
#pragma unroll
    for (unsigned i = 0; i < warps; ++i) sum += parts[i][vector][row];
    residues(work, split, vector)[first_row + row] =
        static_cast<unsigned char>(reduced(sum, prime_of(work, vector)));
}

/// How a wide kernel that computes 16 * tiles vectors uses shared memory, in units of 16 bytes.
template <unsigned tiles>
struct Room {
    static constexpr unsigned vectors = 16 * tiles;
    static constexpr unsigned w_units = row_tile * step / 16, x_units = vectors * step / 16;
    static_assert(w_units % wide_threads == 0 && x_units % wide_threads == 0);
    static constexpr unsigned stage_units = w_units + x_units;
    static constexpr unsigned stages = tiles > 4 ? 3 : 4;
    static_assert(stages * stage_units * 16 <= 48 * 1024);  // what every GPU gives without asking
    /// The residues of a vector, so far apart that lanes write to different banks.
    static constexpr unsigned result_units = row_tile / 16 + 1;
    static_assert(vectors * result_units <= stages * stage_units);
};

DEVICE void copy(Bytes from, Shared16* to) {
    __nvvm_cp_async_cg_shared_global_16((__attribute__((address_space(3))) void*)to,
                                        (__attribute__((address_space(1))) const void*)from);
}

/// Begins to copy one step of W's and of X's lines to a stage, in their order.
template <unsigned tiles>
DEVICE void fetch(const Work& work, unsigned at_step, Shared16* stage) {
    using R = Room<tiles>;
    const Bytes w = tile(work, block_x(), at_step);
#pragma unroll
    for (unsigned i = 0; i < R::w_units / wide_threads; ++i) {
        const unsigned unit = thread() + i * wide_threads;
        copy(w + unit * 16, stage + unit);
    }
    const unsigned first_vector = block_y() * R::vectors;
#pragma unroll
    for (unsigned i = 0; i < R::x_units / wide_threads; ++i) {
        const unsigned unit = thread() + i * wide_threads;
        const unsigned long long line = smaller(first_vector + unit / 4, work.vectors - 1);
        copy(work.x + line * work.stride + at_step * step + unit % 4 * 16,
             stage + R::w_units + unit);
    }
}

/// Adds one step from a stage: of 64 rows from `row` on by 8 * tiles vectors from `vector` on.
template <unsigned tiles>
DEVICE void multiply_stage(int (&sums)[4][tiles][4], const Shared16* stage, unsigned row,
                           unsigned vector) {
    Bytes16 x[tiles];
#pragma unroll
    for (unsigned v = 0; v < tiles; ++v) {
        x[v] = stage[Room<tiles>::w_units + (vector + v * 8) * 4 + lane()];
    }
#pragma unroll
    for (unsigned r = 0; r < 4; ++r) {
        const Bytes16 upper = stage[(row + r * 16) * 4 + lane()];
        const Bytes16 lower = stage[(row + r * 16 + 8) * 4 + lane()];
#pragma unroll
        for (unsigned v = 0; v < tiles; ++v) {
            multiply_step(sums[r][v], upper, lower, x[v]);
        }
    }
}

/// The sums as residues, through shared memory, so that whole lines are written.
template <unsigned tiles>
DEVICE void store(const Work& work, const int (&sums)[4][tiles][4], Shared16* shared, unsigned row,
                  unsigned vector) {
    const unsigned first_vector = block_y() * Room<tiles>::vectors;
    auto* const bytes = (__attribute__((address_space(3))) unsigned char*)shared;
#pragma unroll
    for (unsigned i = 0; i < tiles * 2; ++i) {
        const unsigned of_block = vector + i / 2 * 8 + lane() % 4 * 2 + i % 2;
        const unsigned prime = prime_of(work, first_vector + of_block);
        auto* const line = bytes + of_block * Room<tiles>::result_units * 16 + row + lane() / 4;
#pragma unroll
        for (unsigned r = 0; r < 4; ++r) {
            line[r * 16] = static_cast<unsigned char>(residue(sums[r][i / 2][i % 2], prime));
            line[r * 16 + 8] =
                static_cast<unsigned char>(residue(sums[r][i / 2][i % 2 + 2], prime));
        }
    }
    __syncthreads();
    constexpr unsigned line_units = row_tile / 16;
#pragma unroll
    for (unsigned i = 0; i < Room<tiles>::vectors * line_units / wide_threads; ++i) {
        const unsigned unit = thread() + i * wide_threads;
        const unsigned of_block = unit / line_units, at = unit % line_units;
        if (first_vector + of_block >= work.vectors) return;
        auto* const line =
            (GlobalPointer<Bytes16>)(residues(work, split_of_block(work), first_vector + of_block));
        line[block_x() * line_units + at] = shared[of_block * Room<tiles>::result_units + at];
    }
}

/// row_tile rows of 16 * tiles vectors. Of the four warps, two by two, each computes 64 rows of
/// 8 * tiles vectors, while the next steps are copied to shared memory.
template <unsigned tiles>
DEVICE void multiply_wide(const Work& work, Shared16* shared) {
    constexpr unsigned stages = Room<tiles>::stages, stage_units = Room<tiles>::stage_units;
    const unsigned begin = split_of_block(work) * work.steps_per_split;
    const unsigned end = smaller(begin + work.steps_per_split, work.stride / step);
    const unsigned row = warp() / 2 * 64, vector = warp() % 2 * 8 * tiles;
    int sums[4][tiles][4] = {};
#pragma unroll
    for (unsigned i = 0; i < stages - 1; ++i) {
        if (begin + i < end) fetch<tiles>(work, begin + i, shared + i * stage_units);
        __nvvm_cp_async_commit_group();
    }
    unsigned stage = 0, next = stages - 1;
    for (unsigned at = begin; at < end; ++at) {
        __nvvm_cp_async_wait_group(stages - 2);
        __syncthreads();  // all threads' copies have come, and nobody reads what is fetched over
        if (at + stages - 1 < end) {
            fetch<tiles>(work, at + stages - 1, shared + next * stage_units);
        }
        __nvvm_cp_async_commit_group();
        multiply_stage<tiles>(sums, shared + stage * stage_units, row, vector);
        stage = stage + 1 == stages ? 0 : stage + 1;
        next = next + 1 == stages ? 0 : next + 1;
    }
    __syncthreads();
    store<tiles>(work, sums, shared, row, vector);
}

KERNEL(narrow_threads, 2) narrow(Work work) {
    multiply_narrow(of_matrix(work, matrix_of_block(work)));
}

#define WIDE(name, tiles, blocks)                                                      \
    KERNEL(wide_threads, blocks) name(Work work) {                                     \
        static SHARED Bytes16 room[Room<tiles>::stages * Room<tiles>::stage_units];    \
        multiply_wide<tiles>(of_matrix(work, matrix_of_block(work)), (Shared16*)room); \
    }
WIDE(wide32, 2, 5)
WIDE(wide64, 4, 3)
WIDE(wide96, 6, 2)
WIDE(wide128, 8, 2)

/// The splits' residues are added. At most 2^20 of them are.
KERNEL(join_threads, 1) join(Work work) {
    const unsigned long long unit =
        static_cast<unsigned long long>(block_x()) * join_threads + thread();
    const unsigned long long vectors =
        static_cast<unsigned long long>(work.matrices) * work.vectors;
    const unsigned long long all = vectors * work.rows;
    if (unit * join_bytes >= all) return;
    const auto vector = static_cast<unsigned>(unit * join_bytes / work.rows);
    const unsigned prime = prime_of(of_matrix(work, vector / work.vectors), vector % work.vectors);
    unsigned sums[join_bytes] = {};
    for (unsigned split = 0; split < work.splits; ++split) {
        const Bytes16 words = load(work.partial + split * all + unit * join_bytes);
#pragma unroll
        for (unsigned i = 0; i < join_bytes; ++i) sums[i] += words[i / 4] >> i % 4 * 8 & 0xffU;
    }
    Bytes16 words = {};
#pragma unroll
    for (unsigned i = 0; i < join_bytes; ++i) {
        words[i / 4] |= reduced(sums[i], prime) << i % 4 * 8;
    }
    *(GlobalPointer<Bytes16>)(work.y + unit * join_bytes) = words;
}
