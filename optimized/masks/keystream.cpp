#include "optimized/masks/keystream.hpp"

#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::masks {
namespace {

namespace parameters = base::parameters;
using base::require;

constexpr std::size_t key_bytes = parameters::session_key_bytes;
constexpr std::size_t round_key_bytes = 240;
constexpr std::size_t block_bytes = 16;

/// One stream of RAND-1 and the prime that its residues are below.
struct Stream {
    std::uint32_t field;
    std::uint64_t index;
    std::uint8_t prime;
};

/// RAND-1: field[4] || index[8] || 0, big-endian.
std::array<std::uint8_t, block_bytes> first_block(const Stream& stream) {
    std::array<std::uint8_t, block_bytes> block{};
    for (std::size_t i = 0; i < 4; ++i) {
        block[i] = static_cast<std::uint8_t>(stream.field >> (24 - 8 * i));
    }
    for (std::size_t i = 0; i < 8; ++i) {
        block[4 + i] = static_cast<std::uint8_t>(stream.index >> (56 - 8 * i));
    }
    return block;
}

/// The key on a page of its own, which a forked child sees as zeros (RAND-6), which no core dump
/// contains (RAND-4), and which is not swapped out where the system allows (THREAT-3).
class KeyPage {
public:
    KeyPage() : size_(static_cast<std::size_t>(::sysconf(_SC_PAGESIZE))) {
        void* page =
            ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        require(page != MAP_FAILED, "no memory for the session's key");
        contents_ = static_cast<Contents*>(page);
        if (::madvise(page, size_, MADV_WIPEONFORK) != 0 ||
            ::madvise(page, size_, MADV_DONTDUMP) != 0) {
            ::munmap(page, size_);
            throw InternalError("the operating system cannot keep the key from forked processes");
        }
        base::keep_in_memory(page, size_);
        contents_->present = 1;
    }
    KeyPage(const KeyPage&) = delete;
    KeyPage& operator=(const KeyPage&) = delete;
    ~KeyPage() {
        base::wipe(contents_, sizeof *contents_);
        ::munmap(contents_, size_);
    }

    /// False in a process that was forked after this object was made.
    bool present() const { return contents_->present == 1; }
    std::span<std::uint8_t, key_bytes> key() { return contents_->key; }
    std::span<std::uint8_t, round_key_bytes> round_keys() { return contents_->round_keys; }

private:
    struct Contents {
        std::uint64_t present;
        std::array<std::uint8_t, key_bytes> key;
        std::array<std::uint8_t, round_key_bytes> round_keys;  // of a backend with AES
    };
    std::size_t size_;
    Contents* contents_ = nullptr;
};

struct CipherDeleter {
    void operator()(EVP_CIPHER_CTX* context) const { EVP_CIPHER_CTX_free(context); }  // wipes
};

}  // namespace

struct Keystream::State {
    explicit State(const Options& options)
        : blocks_per_key(options.blocks_per_key),
          given_keys(options.given_keys.size()),
          cipher(EVP_CIPHER_CTX_new()) {
        require(given_keys.size() % key_bytes == 0, "Keystream: a key has 32 bytes");
        require(cipher != nullptr, "no memory for the cipher");
        require(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, nullptr, nullptr) == 1,
                "OpenSSL has no AES-256-CTR");
        std::copy(options.given_keys.begin(), options.given_keys.end(), given_keys.data());
        next_key();
    }

    void next_key();
    void draw(const Stream& stream, std::span<std::uint8_t> residues);
    std::uint64_t expand(const Stream& stream, std::span<std::uint8_t> residues);
    std::uint64_t encrypt(const Stream& stream, std::span<std::uint8_t> residues);
    void draw_whole(const Stream& stream, std::span<std::uint8_t> bytes);
    void begin_stream(const Stream& stream);
    void draw_bytes(std::span<std::uint8_t> bytes);

    std::uint64_t blocks_per_key;
    std::uint64_t blocks_drawn = 0;
    base::SecretBuffer<std::uint8_t> given_keys;
    std::size_t given_keys_used = 0;  // in bytes
    KeyPage page;
    std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter> cipher;
};

/// RAND-4: from the operating system, which blocks until it is able to answer.
void Keystream::State::next_key() {
    if (given_keys_used < given_keys.size()) {
        std::memcpy(page.key().data(), given_keys.data() + given_keys_used, key_bytes);
        given_keys_used += key_bytes;
    } else {
        // A request of at most 256 bytes is never answered in part.
        const auto key = page.key();
        require(::getrandom(key.data(), key.size(), 0) == static_cast<ssize_t>(key.size()),
                "the operating system gave no random key");
    }
    const auto schedule = kernels::active().aes256_schedule;
    if (schedule != nullptr) schedule(page.key().data(), page.round_keys().data());
    blocks_drawn = 0;
}

void Keystream::State::begin_stream(const Stream& stream) {
    const auto block = first_block(stream);
    require(
        EVP_EncryptInit_ex(cipher.get(), nullptr, nullptr, page.key().data(), block.data()) == 1,
        "OpenSSL failed to begin a keystream");
}

/// The next bytes of the stream that was begun: the encryption of zeros in counter mode.
void Keystream::State::draw_bytes(std::span<std::uint8_t> bytes) {
    constexpr std::size_t most_at_once = std::size_t{1} << 26;  // EVP counts bytes in an int
    while (!bytes.empty()) {
        const auto chunk = bytes.first(std::min(bytes.size(), most_at_once));
        std::memset(chunk.data(), 0, chunk.size());
        int written = 0;
        require(EVP_EncryptUpdate(cipher.get(), chunk.data(), &written, chunk.data(),
                                  static_cast<int>(chunk.size())) == 1,
                "OpenSSL failed to draw a keystream");
        bytes = bytes.subspan(chunk.size());
    }
}

/// The residues of one stream. No byte is reduced in place of being rejected, so they are uniform
/// (RAND-3).
void Keystream::State::draw(const Stream& stream, std::span<std::uint8_t> residues) {
    if (blocks_drawn >= blocks_per_key) next_key();  // RAND-5
    blocks_drawn += kernels::active().aes256_schedule != nullptr ? expand(stream, residues)
                                                                 : encrypt(stream, residues);
}

/// RAND-2 with the backend's AES instructions. Whole blocks give residues where they will stand;
/// the last block gives what is missing. Returns the blocks drawn.
std::uint64_t Keystream::State::expand(const Stream& stream, std::span<std::uint8_t> residues) {
    std::uint32_t next = 0;
    const auto draw = [&](std::size_t blocks, std::uint8_t* out) {
        const std::size_t accepted = kernels::active().expand(
            page.round_keys().data(), stream.field, stream.index, next, blocks, stream.prime, out);
        next += static_cast<std::uint32_t>(blocks);
        return accepted;
    };
    while (residues.size() >= block_bytes) {
        residues = residues.subspan(draw(residues.size() / block_bytes, residues.data()));
    }
    std::array<std::uint8_t, block_bytes> block;
    while (!residues.empty()) {
        const std::size_t accepted = std::min(draw(1, block.data()), residues.size());
        std::copy_n(block.begin(), accepted, residues.begin());
        residues = residues.subspan(accepted);
    }
    base::wipe(block.data(), sizeof block);
    return next;
}

/// RAND-2 with OpenSSL. The bytes are drawn where the residues will stand. Where one is rejected
/// the others move up, and the stream goes on behind them. A partly used block continues in the
/// cipher. Returns the blocks drawn.
std::uint64_t Keystream::State::encrypt(const Stream& stream, std::span<std::uint8_t> residues) {
    begin_stream(stream);
    std::size_t bytes = 0;
    while (!residues.empty()) {
        draw_bytes(residues);
        bytes += residues.size();
        const std::size_t accepted = kernels::active().sample(residues.data(), residues.size(),
                                                              stream.prime, residues.data());
        residues = residues.subspan(accepted);
    }
    return (bytes + block_bytes - 1) / block_bytes;
}

/// Every byte of the stream, whatever its prime.
void Keystream::State::draw_whole(const Stream& stream, std::span<std::uint8_t> bytes) {
    if (blocks_drawn >= blocks_per_key) next_key();  // RAND-5
    begin_stream(stream);
    draw_bytes(bytes);
    blocks_drawn += (bytes.size() + block_bytes - 1) / block_bytes;
}

Keystream::Keystream() : Keystream(Options{}) {}
Keystream::Keystream(const Options& options) : state_(std::make_unique<State>(options)) {}
Keystream::Keystream(Keystream&&) noexcept = default;
Keystream& Keystream::operator=(Keystream&&) noexcept = default;
Keystream::~Keystream() = default;

bool Keystream::forked() const noexcept { return state_ != nullptr && !state_->page.present(); }

void Keystream::require_usable() const {
    require(state_ != nullptr, "the session's key is destroyed");
    require(!forked(), "the session's key belongs to the process before the fork");
}

void Keystream::draw(Purpose purpose, std::uint64_t index, std::size_t planes,
                     std::span<std::uint8_t> column) {
    require_usable();
    require(planes >= 1 && planes <= parameters::primes.size() && column.size() % planes == 0,
            "Keystream::draw: whole planes");
    const std::size_t n = column.size() / planes;
    require(n <= parameters::blocks_per_stream, "a keystream is too short for so many residues");
    for (std::size_t p = 0; p < planes; ++p) {
        const auto field = parameters::stream_field(p, static_cast<std::uint8_t>(purpose));
        state_->draw({field, index, parameters::primes[p]}, column.subspan(p * n, n));
    }
}

void Keystream::draw_bytes(Purpose purpose, std::uint64_t index, std::span<std::uint8_t> bytes) {
    require_usable();
    require(bytes.size() / block_bytes < parameters::blocks_per_stream,
            "a keystream is too short for so many bytes");
    state_->draw_whole({parameters::stream_field(0, static_cast<std::uint8_t>(purpose)), index, 0},
                       bytes);
}

void Keystream::destroy() noexcept {
    if (!forked()) state_.reset();
}

}  // namespace slip::masks
