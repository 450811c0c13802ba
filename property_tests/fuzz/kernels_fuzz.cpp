// Every kernel of every backend that this machine can run against the portable one: the contracts
// of optimized/kernels/contracts.hpp leave one answer only.
#include "optimized/kernels/registry.hpp"
#include "property_tests/fuzz/fuzz.hpp"
#include "property_tests/kernels/kernel_agreement.hpp"

namespace slip::fuzz::kernels_fuzz {

const std::size_t allowance = std::size_t{1} << 18;  // the largest sizes, in words of 8 bytes

std::vector<Bytes> seeds() {
    std::vector<Bytes> inputs;
    for (const char* text : {"few numbers", "64 rows and 4 columns per panel"}) {
        inputs.push_back(bytes_of(text));
    }
    for (unsigned size = 0; size < 80; ++size) {
        Bytes input;
        for (const unsigned each :
             {size, size, 2 * size, size % 6, 2 * size % 151, size % 71, size % 7}) {
            input.push_back(static_cast<std::byte>(each));
        }
        inputs.push_back(input);
    }
    return inputs;
}

/// The first byte chooses the backend that is compared with the portable one. The name is printed,
/// so that the input that is kept says which kernel it is of.
bool check(std::span<const std::byte> bytes) {
    static const auto backends = kernels::available();
    if (bytes.empty()) return false;
    if (backends.size() < 2) return true;
    const std::size_t other = 1 + std::to_integer<std::size_t>(bytes[0]) % (backends.size() - 1);
    const char* kernel = testing::disagreement(*backends[0], *backends[other], bytes.subspan(1));
    expect(kernel == nullptr, kernel);
    return true;
}

const Target target{"kernels_fuzz", allowance, seeds, check};

}  // namespace slip::fuzz::kernels_fuzz
