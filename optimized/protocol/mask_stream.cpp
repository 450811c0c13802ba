#include "optimized/protocol/mask_stream.hpp"

#include <openssl/evp.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/parameters.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::protocol {
namespace {

namespace parameters = base::parameters;
using base::require;

constexpr std::size_t key_bytes = parameters::session_key_bytes;
constexpr std::size_t round_key_bytes = 240;
constexpr std::size_t block_bytes = 16;

/// RAND-1: tag[4] || index[8] || 0, big-endian.
std::array<std::uint8_t, block_bytes> first_block(StreamTag tag, std::uint64_t index) {
    std::array<std::uint8_t, block_bytes> block{};
    for (std::size_t i = 0; i < 4; ++i) {
        block[i] = static_cast<std::uint8_t>(static_cast<std::uint32_t>(tag) >> (24 - 8 * i));
    }
    for (std::size_t i = 0; i < 8; ++i) {
        block[4 + i] = static_cast<std::uint8_t>(index >> (56 - 8 * i));
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

struct KeyStream::State {
    explicit State(const Options& options)
        : blocks_per_key(options.blocks_per_key),
          test_keys(options.test_keys.begin(), options.test_keys.end()),
          cipher(EVP_CIPHER_CTX_new()) {
        require(test_keys.size() % key_bytes == 0, "KeyStream: a test key has 32 bytes");
        require(cipher != nullptr, "no memory for the cipher");
        require(EVP_EncryptInit_ex(cipher.get(), EVP_aes_256_ctr(), nullptr, nullptr, nullptr) == 1,
                "OpenSSL has no AES-256-CTR");
        next_key();
    }

    void next_key();
    template <class P>
    std::uint64_t expand(StreamTag tag, std::uint64_t index,
                         std::span<typename P::Residue> residues);
    template <class P>
    std::uint64_t encrypt(StreamTag tag, std::uint64_t index,
                          std::span<typename P::Residue> residues);
    void begin_stream(StreamTag tag, std::uint64_t index);
    void draw_bytes(std::span<std::byte> bytes);

    std::uint64_t blocks_per_key;
    std::uint64_t blocks_drawn = 0;
    std::vector<std::uint8_t> test_keys;
    std::size_t test_keys_used = 0;  // in bytes
    KeyPage page;
    std::unique_ptr<EVP_CIPHER_CTX, CipherDeleter> cipher;
};

/// RAND-4: from the operating system, which blocks until it is able to answer.
void KeyStream::State::next_key() {
    if (test_keys_used < test_keys.size()) {
        std::memcpy(page.key().data(), test_keys.data() + test_keys_used, key_bytes);
        test_keys_used += key_bytes;
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

void KeyStream::State::begin_stream(StreamTag tag, std::uint64_t index) {
    const auto block = first_block(tag, index);
    require(
        EVP_EncryptInit_ex(cipher.get(), nullptr, nullptr, page.key().data(), block.data()) == 1,
        "OpenSSL failed to begin a keystream");
}

/// The next bytes of the stream that was begun: the encryption of zeros in counter mode.
void KeyStream::State::draw_bytes(std::span<std::byte> bytes) {
    constexpr std::size_t most_at_once = std::size_t{1} << 26;  // EVP counts bytes in an int
    while (!bytes.empty()) {
        const auto chunk = bytes.first(std::min(bytes.size(), most_at_once));
        std::memset(chunk.data(), 0, chunk.size());
        auto* out = reinterpret_cast<unsigned char*>(chunk.data());
        int written = 0;
        require(EVP_EncryptUpdate(cipher.get(), out, &written, out,
                                  static_cast<int>(chunk.size())) == 1,
                "OpenSSL failed to draw a keystream");
        bytes = bytes.subspan(chunk.size());
    }
}

/// RAND-2 with the backend's AES instructions. Whole blocks give residues where they will stand;
/// the last block gives what is missing. Returns the blocks drawn.
template <class P>
std::uint64_t KeyStream::State::expand(StreamTag tag, std::uint64_t index,
                                       std::span<typename P::Residue> residues) {
    constexpr std::size_t words = block_bytes / sizeof(typename P::Residue);
    std::uint32_t next = 0;
    const auto draw = [&](std::size_t blocks, typename P::Residue* out) {
        const std::size_t accepted = kernels::active().of<P>().expand(
            page.round_keys().data(), static_cast<std::uint32_t>(tag), index, next, blocks, out);
        next += static_cast<std::uint32_t>(blocks);
        return accepted;
    };
    while (residues.size() >= words) {
        residues = residues.subspan(draw(residues.size() / words, residues.data()));
    }
    std::array<typename P::Residue, words> block;
    while (!residues.empty()) {
        const std::size_t accepted = std::min(draw(1, block.data()), residues.size());
        std::copy_n(block.begin(), accepted, residues.begin());
        residues = residues.subspan(accepted);
    }
    base::wipe(block.data(), sizeof block);
    return next;
}

/// RAND-2 with OpenSSL. The words are drawn where the residues will stand. Where a word is rejected
/// the others move up, and the stream goes on behind them. A partly used block continues in the
/// cipher. Returns the blocks drawn.
template <class P>
std::uint64_t KeyStream::State::encrypt(StreamTag tag, std::uint64_t index,
                                        std::span<typename P::Residue> residues) {
    begin_stream(tag, index);
    std::size_t bytes = 0;
    while (!residues.empty()) {
        draw_bytes(std::as_writable_bytes(residues));
        bytes += residues.size_bytes();
        const std::size_t accepted =
            kernels::active().of<P>().sample(residues.data(), residues.size(), residues.data());
        residues = residues.subspan(accepted);
    }
    return (bytes + block_bytes - 1) / block_bytes;
}

KeyStream::KeyStream() : KeyStream(Options{}) {}
KeyStream::KeyStream(const Options& options) : state_(std::make_unique<State>(options)) {}
KeyStream::KeyStream(KeyStream&&) noexcept = default;
KeyStream& KeyStream::operator=(KeyStream&&) noexcept = default;
KeyStream::~KeyStream() = default;

bool KeyStream::forked() const noexcept { return state_ != nullptr && !state_->page.present(); }

void KeyStream::require_usable() const {
    require(state_ != nullptr, "the session's key is destroyed");
    require(!forked(), "the session's key belongs to the process before the fork");
}

template <class P>
void KeyStream::draw(StreamTag tag, std::uint64_t index, std::span<typename P::Residue> residues) {
    require_usable();
    require(residues.size() <= parameters::blocks_per_stream,
            "a keystream is too short for so many residues");
    if (state_->blocks_drawn >= state_->blocks_per_key) state_->next_key();  // RAND-5
    // No word is reduced in place of being rejected, so the residues are uniform (RAND-3).
    state_->blocks_drawn += kernels::active().aes256_schedule != nullptr
                                ? state_->expand<P>(tag, index, residues)
                                : state_->encrypt<P>(tag, index, residues);
}

template void KeyStream::draw<P31>(StreamTag, std::uint64_t, std::span<P31::Residue>);

void KeyStream::destroy() noexcept {
    if (!forked()) state_.reset();
}

template <class P>
Mask<P>::Mask(std::uint64_t index, Residues mask, Residues cancellation)
    : index_(index), mask_(std::move(mask)), cancellation_(std::move(cancellation)) {
    require(spendable(), "Mask: a mask has at least one residue");
}

template <class P>
typename Mask<P>::Spent Mask<P>::spend() && {  // MASK-5
    require(spendable(), "a mask was used a second time");
    return {index_, std::move(mask_), std::move(cancellation_)};
}

template class Mask<P31>;

}  // namespace slip::protocol
