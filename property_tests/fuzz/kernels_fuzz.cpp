// Every kernel of every backend that this machine can run, against each other: the contracts of
// optimized/kernels/contracts.hpp leave one answer only.
#include "optimized/kernels/registry.hpp"
#include "property_tests/fuzz/fuzz.hpp"
#include "property_tests/kernel_agreement.hpp"

namespace slip::fuzz {

const std::size_t allowance = std::size_t{1} << 18;  // the largest sizes, in words of 8 bytes

std::vector<Bytes> seeds() {
    std::vector<Bytes> inputs;
    for (const char* text : {"", "few numbers", "P31: 64 rows and 4 columns a panel"}) {
        inputs.push_back(bytes_of(text));
    }
    for (unsigned size = 0; size < 80; ++size) {
        for (const unsigned wide : {0U, 1U}) {
            Bytes input;
            for (const unsigned each : {size, 2 * size, size % 6, size % 21, size % 71, wide}) {
                input.push_back(static_cast<std::byte>(each));
            }
            inputs.push_back(input);
        }
    }
    return inputs;
}

/// The name is printed, so that the input that is kept says which kernel it is of.
bool check(std::span<const std::byte> bytes) {
    const auto backends = kernels::available();
    for (std::size_t i = 0; i < backends.size(); ++i) {
        for (std::size_t j = i + 1; j < backends.size(); ++j) {
            const char* kernel = kernel_tests::disagreement(*backends[i], *backends[j], bytes);
            expect(kernel == nullptr, kernel);
        }
    }
    return true;
}

}  // namespace slip::fuzz
