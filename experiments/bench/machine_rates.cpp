#include "experiments/bench/machine_rates.hpp"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <string_view>
#include <vector>

#include "experiments/bench/machine.hpp"
#include "experiments/bench/medians.hpp"
#include "optimized/base/error.hpp"
#include "optimized/masks/registry.hpp"

namespace slip::bench {
namespace {

using base::require;

constexpr std::size_t times_measured = 5;
constexpr std::size_t record_bytes = 16384;  // RFC 8446
constexpr std::size_t records = 256;

/// Units per second of this processor, where `work` makes `units`; the first time is not counted.
template <class Work>
double rate_of(double units, const Work& work) {
    work();
    std::vector<double> seconds;
    for (std::size_t r = 0; r < times_measured; ++r) seconds.push_back(processor_seconds_of(work));
    return units / median(seconds);
}

/// Bytes per second of a cipher, message by message of a record's size.
double cipher_rate(const EVP_CIPHER* cipher) {
    const std::unique_ptr<EVP_CIPHER_CTX, decltype(&EVP_CIPHER_CTX_free)> context(
        EVP_CIPHER_CTX_new(), &EVP_CIPHER_CTX_free);
    std::array<std::uint8_t, 32> key{};
    std::array<std::uint8_t, 16> start{};
    std::vector<std::uint8_t> record(record_bytes);
    require(EVP_EncryptInit_ex(context.get(), cipher, nullptr, key.data(), start.data()) == 1,
            "OpenSSL lacks a cipher");
    return rate_of(static_cast<double>(records * record_bytes), [&] {
        for (std::size_t i = 0; i < records; ++i) {
            int written = 0;
            EVP_EncryptInit_ex(context.get(), nullptr, nullptr, nullptr, start.data());
            EVP_EncryptUpdate(context.get(), record.data(), &written, record.data(),
                              static_cast<int>(record.size()));
        }
    });
}

double shake_rate() {
    const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                          &EVP_MD_CTX_free);
    std::vector<std::uint8_t> out(std::size_t{1} << 20);
    return rate_of(static_cast<double>(out.size()), [&] {
        EVP_DigestInit_ex(context.get(), EVP_shake128(), nullptr);
        EVP_DigestFinalXOF(context.get(), out.data(), out.size());
    });
}

double multiplication_rate() {
    const std::string_view backend = masks::active().name;
    const std::size_t lanes = backend == "avx512" ? 8 : backend == "avx2" ? 4 : 0;
    if (lanes == 0) return 0;
    constexpr std::size_t count = std::size_t{1} << 20;
    return rate_of(static_cast<double>(count * fused_at_once * lanes),
                   [&] { multiply_doubles(lanes, count); });
}

}  // namespace

MachineRates measure_machine_rates() {
    return {cipher_rate(EVP_aes_256_ctr()), cipher_rate(EVP_aes_256_gcm()), shake_rate(),
            multiplication_rate()};
}

}  // namespace slip::bench
