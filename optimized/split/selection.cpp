#include "optimized/split/selection.hpp"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <bit>
#include <memory>
#include <numeric>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"

namespace slip::splitting {
namespace {

using base::require;

struct FreeCipher {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }
};

/// RAND-1: blocks of AES-256 over field[4] || index[8] || counter[4], big-endian, one after the
/// other.
class Keystream {
public:
    Keystream(const SelectionSeed& seed, std::uint64_t index) : context_(EVP_CIPHER_CTX_new()) {
        std::array<std::uint8_t, 16> block{0, 0, 0,
                                           base::parameters::selection_purpose};  // of plane 0
        for (std::size_t i = 0; i < 8; ++i) {
            block[4 + i] = static_cast<std::uint8_t>(index >> (56 - 8 * i));
        }
        require(context_ != nullptr && EVP_EncryptInit_ex(context_.get(), EVP_aes_256_ctr(),
                                                          nullptr, seed.data(), block.data()) == 1,
                "AES-256 is not available in this build of OpenSSL");
    }
    std::uint8_t next() {
        if (used_ == bytes_.size()) refill();
        return bytes_[used_++];
    }

private:
    void refill() {
        constexpr std::array<std::uint8_t, 1024> zeros{};
        int written = 0;
        require(EVP_EncryptUpdate(context_.get(), bytes_.data(), &written, zeros.data(),
                                  static_cast<int>(zeros.size())) == 1,
                "AES-256 failed");
        used_ = 0;
    }

    std::unique_ptr<EVP_CIPHER_CTX, FreeCipher> context_;
    std::array<std::uint8_t, 1024> bytes_{};
    std::size_t used_ = bytes_.size();
};

/// RAND-2 with L = n: uniform on 0, ..., n - 1.
std::size_t uniform_below(std::size_t n, const ByteSource& next_byte) {
    if (n == 1) return 0;  // draws nothing
    const auto bits = static_cast<int>(std::bit_width(n - 1));
    const std::size_t word_bytes = std::bit_ceil((static_cast<std::size_t>(bits) + 7) / 8);
    const std::uint64_t low_bits = ~std::uint64_t{0} >> (64 - bits);
    while (true) {
        std::uint64_t word = 0;
        for (std::size_t i = 0; i < word_bytes; ++i) word |= std::uint64_t{next_byte()} << (8 * i);
        word &= low_bits;
        if (word < n) return word;
    }
}

}  // namespace

SelectionSeed new_seed() {
    SelectionSeed seed{};
    require(RAND_priv_bytes(seed.data(), static_cast<int>(seed.size())) == 1,
            "the operating system gives no random bytes");
    return seed;
}

ByteSource selection_stream(const SelectionSeed& seed, std::uint64_t matrix) {
    const auto stream = std::make_shared<Keystream>(seed, matrix);
    return [stream] { return stream->next(); };
}

std::vector<std::size_t> choose(std::size_t k, std::size_t n, const ByteSource& next_byte) {
    require(k <= n, "choose: more numbers than there are");
    std::vector<std::size_t> numbers(n);
    std::iota(numbers.begin(), numbers.end(), std::size_t{0});
    for (std::size_t c = 0; c < k; ++c) {
        std::swap(numbers[c], numbers[c + uniform_below(n - c, next_byte)]);
    }
    numbers.resize(k);
    std::sort(numbers.begin(), numbers.end());
    return numbers;
}

}  // namespace slip::splitting
