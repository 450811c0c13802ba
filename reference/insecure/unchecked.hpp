// INSECURE, for demonstration only: the protocol without the integrity check, which the paper
// calls secure "even against a malicious David", and how such a David takes a sensitive matrix.
#pragma once

#include <cstddef>
#include <functional>

#include "reference/integer_model.hpp"
#include "reference/masking.hpp"

namespace slip::reference::insecure {

/// INSECURE. f(q) = W_2 relu(W_1 q) in integers, both products masked, no reply checked.
///
/// David changes his reply to the first message by an error of his choice, and sees the output.
class UncheckedModel {
public:
    /// Error: W_2 does not take the outputs of W_1.
    UncheckedModel(Planes planes, IntegerModel first, IntegerModel second, const Key& key);

    /// One inference of q, with David's first reply y~ + error mod L. Masks are fresh.
    Vector infer(const Vector& q, const Vector& error);

    /// How many inferences there were.
    std::size_t queries() const { return queries_; }

private:
    Vector masked_product(const IntegerModel& weight, const Vector& q, const Vector& error);

    Planes planes_;
    IntegerModel first_, second_;
    MaskSequence masks_;
    std::size_t queries_ = 0;
};

/// What David can do in one inference: choose an error, and read the output.
using Oracle = std::function<Vector(const Vector& error)>;

/// E-3. The attack: with h = W_1 q + 2^t shift > 0 in every entry, relu is the identity, and
///
///     f(error = shift + e_j) - f(error = shift) = 2^t W_2 e_j
///
/// so `columns` + 1 inferences of one unknown q give W_2, top components included.
/// @param rows rows of W_2
Matrix recover_by_errors(const Oracle& oracle, std::size_t rows, std::size_t columns,
                         const Integer& shift);

}  // namespace slip::reference::insecure
