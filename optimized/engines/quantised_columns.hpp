// ENC-1 for a batch: what the integer engines do to activations before they multiply.
#pragma once

#include <cstdint>

#include "optimized/artifact/artifact.hpp"
#include "optimized/base/matrix_view.hpp"
#include "optimized/base/secret_buffer.hpp"

namespace slip::engines {

/// `rows` x `cols` elements of `storage`, which grows if need be, losing its contents, and is wiped
/// when it is freed: what lies there are activations.
template <class T>
base::MatrixView<T> room_in(base::SecretBuffer<T>& storage, std::size_t rows, std::size_t cols) {
    if (storage.size() < rows * cols) storage = base::SecretBuffer<T>(rows * cols);
    return {storage.data(), rows, cols};
}

/// The columns of one message, quantised; the memory is kept from message to message.
class QuantisedColumns {
public:
    /// ENC-1 for every row of `input`, of which a part (HIDE-7) takes its own columns. Throws
    /// BadInput, naming the group's first matrix, if an element is NaN or infinite; nothing was
    /// sent then.
    void assign(const artifact::CharlieGroup& group, base::MatrixView<const float> input);

    /// b x inputs().
    base::MatrixView<const std::int16_t> values() const { return quantised_; }
    float scale(std::size_t column) const { return scales_[column]; }

private:
    base::SecretBuffer<std::int16_t> values_;
    base::SecretBuffer<float> scales_;
    base::MatrixView<const std::int16_t> quantised_;
};

}  // namespace slip::engines
