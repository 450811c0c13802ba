// An engine whose products fail.
#pragma once

#include <cstddef>
#include <span>

#include "optimized/base/engine.hpp"
#include "optimized/base/error.hpp"

namespace slip::testing {

/// Another engine, whose call number `fails_at` throws.
class FailingEngine : public base::Engine {
public:
    FailingEngine(base::Engine& inner, std::size_t fails_at) : inner_(inner), fails_at_(fails_at) {}
    void apply(base::GroupId group, base::MatrixView<const float> input,
               std::span<const base::MatrixView<float>> outputs) override {
        if (calls_++ == fails_at_) throw ProtocolError("the connection failed");
        inner_.apply(group, input, outputs);
    }
    std::size_t calls() const { return calls_; }

private:
    base::Engine& inner_;
    std::size_t fails_at_;
    std::size_t calls_ = 0;
};

}  // namespace slip::testing
