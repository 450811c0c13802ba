#include "reference/randomness.hpp"

#include <algorithm>
#include <utility>

#include "reference/error.hpp"

namespace slip::reference {

namespace {

/// Writes `value` into bytes first, ..., first + size - 1, most significant byte first.
void put_big_endian(Block& block, std::size_t first, std::size_t size, std::uint64_t value) {
    for (std::size_t i = size; i-- > 0; value >>= 8) {
        block[first + i] = static_cast<std::uint8_t>(value & 0xff);
    }
}

std::size_t bytes_of_word(std::size_t bits) {
    if (bits > 64) return (bits + 7) / 8;
    std::size_t bytes = 1;
    while (8 * bytes < bits) bytes *= 2;
    return bytes;
}

}  // namespace

Block counter_block(Purpose purpose, std::uint64_t index, std::uint32_t counter,
                    std::size_t plane) {  // RAND-1
    require(plane >> 24 == 0, "the number of a plane has three bytes");
    Block block{};
    put_big_endian(block, 0, 4, 256 * std::uint64_t{plane} + static_cast<std::uint8_t>(purpose));
    put_big_endian(block, 4, 8, index);
    put_big_endian(block, 12, 4, counter);
    return block;
}

Bytes Keystream::take(std::size_t count) {  // RAND-1
    Bytes bytes;
    while (bytes.size() < count) {
        if (used_ == block_.size()) {
            require(next_counter_ >> 32 == 0, "a stream has at most 2^32 blocks");
            const auto counter = static_cast<std::uint32_t>(next_counter_++);
            block_ = cipher_.encrypt(counter_block(purpose_, index_, counter, plane_));
            used_ = 0;
        }
        bytes.push_back(block_[used_++]);
    }
    return bytes;
}

Bytes FixedBytes::take(std::size_t count) {
    require(count <= remaining(), "the source has no more bytes");
    const auto first = bytes_.begin() + static_cast<std::ptrdiff_t>(used_);
    used_ += count;
    return Bytes(first, first + static_cast<std::ptrdiff_t>(count));
}

Integer little_endian(const Bytes& bytes) {
    Integer value = 0;
    for (std::size_t i = bytes.size(); i-- > 0;) value = (value << 8) | bytes[i];
    return value;
}

Sampler::Sampler(Ring ring)  // RAND-2
    : ring_(std::move(ring)),
      bits_(msb(Integer(ring_.modulus() - 1)) + std::size_t{1}),
      word_bytes_(bytes_of_word(bits_)) {}

Sample Sampler::draw(ByteSource& source, std::size_t count) const {  // RAND-2, RAND-3
    const Integer low_bits = (Integer(1) << bits_) - 1;
    Sample sample;
    for (std::size_t word = 0; sample.residues.size() < count; ++word) {
        const Integer v = little_endian(source.take(word_bytes_)) & low_bits;
        if (v < ring_.modulus()) {
            sample.residues.push_back(v);
        } else {
            sample.rejected.push_back(word);
        }
    }
    return sample;
}

Vector uniform_residues(const Ring& ring, const Key& key, Purpose purpose, std::uint64_t index,
                        std::size_t count, std::size_t plane) {
    Keystream stream(key, purpose, index, plane);
    return Sampler(ring).draw(stream, count).residues;
}

Vector small_integers(ByteSource& source, unsigned eta, std::size_t count) {  // RAND-9
    require(1 <= eta && eta <= 8, "a centred binomial integer has between 1 + 1 and 8 + 8 bits");
    const Bytes bytes = source.take((2 * eta * count + 7) / 8);
    std::size_t position = 0;
    const auto next_bits = [&] {
        int sum = 0;
        for (unsigned b = 0; b < eta; ++b, ++position) {
            sum += bytes[position / 8] >> (position % 8) & 1;
        }
        return sum;
    };
    Vector integers;
    for (std::size_t j = 0; j < count; ++j) {
        const int positive = next_bits();
        integers.emplace_back(positive - next_bits());
    }
    return integers;
}

Bytes public_input(std::uint8_t set, PublicPurpose purpose, std::size_t plane, std::uint32_t width,
                   std::uint32_t index, const Key& seed) {  // RAND-8
    require(plane < 256, "the number of a plane has one byte");
    Bytes input{'S', 'L', 'I', 'P', '-', '2'};
    input.push_back(set);
    input.push_back(static_cast<std::uint8_t>(purpose));
    input.push_back(static_cast<std::uint8_t>(plane));
    for (const std::uint32_t number : {width, index}) {
        for (unsigned shift = 0; shift < 32; shift += 8) {
            input.push_back(static_cast<std::uint8_t>(number >> shift));
        }
    }
    input.insert(input.end(), seed.begin(), seed.end());
    return input;
}

Vector public_residues(const Ring& ring, const Bytes& input, std::size_t count) {  // RAND-8
    ShakeSource source(input);
    return Sampler(ring).draw(source, count).residues;
}

}  // namespace slip::reference
