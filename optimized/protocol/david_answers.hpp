// What the sessions of both Davids share: frames in, products out. Private to this room.
#pragma once

#include <algorithm>
#include <chrono>
#include <span>
#include <utility>
#include <vector>

#include "optimized/base/error.hpp"
#include "optimized/base/secret_buffer.hpp"
#include "optimized/protocol/david.hpp"
#include "optimized/protocol/growing_buffer.hpp"

namespace slip::protocol {

/// A session in the model's profile, but for what its states allow. The buffers are as large as the
/// largest message so far, and zero between messages (SESS-6).
template <class P>
class DavidAnswers : public DavidSession {
public:
    using Residue = typename P::Residue;

    std::span<const std::byte> handle(std::span<const std::byte> payload) final {
        if (finished()) throw ProtocolError("the session with David has ended");  // SESS-4
        answer_.resize(0);
        try {
            answer(payload);
        } catch (const ProtocolError&) {
            refuse(wire::Refusal::malformed);
        }
        return answer_.span();
    }
    void forget() noexcept final {
        base::wipe(answer_.span().data(), answer_.span().size());
        answer_.resize(0);
    }
    bool finished() const final { return finished_; }
    double seconds() const final { return seconds_; }

    /// Whatever has ended the session: what was not sent is forgotten too (SESS-6).
    ~DavidAnswers() override {
        forget();
        wipe(columns_);
        wipe(product_);
    }

protected:
    DavidAnswers(const DavidModel& model, Tamper tamper)
        : model_(model), tamper_(std::move(tamper)) {
        for (const kernels::GroupWeights& w : model.weights) {
            base::require(w.shape().inputs() > 0 && w.shape().outputs() > 0,
                          "DavidSession: a group has no rows or no columns");
            w.prepare<P>();
        }
    }

    /// SESS-1: what each state allows. Throws ProtocolError for a frame that is not canonical.
    virtual void answer(std::span<const std::byte> payload) = 0;
    /// The session is over: nothing that is secret may outlive it (SESS-6).
    virtual void finish() noexcept { finished_ = true; }

    void refuse(wire::Refusal reason) {  // SESS-4
        finish();
        answer_with(wire::encode_refuse(reason));
    }

    void answer_with(std::span<const std::byte> frame) {
        std::copy(frame.begin(), frame.end(), answer_.resize(frame.size()).begin());
    }

    /// LIN-1: W_D x mod L for every column, or CNN-4: the convolution of the image. The answer is a
    /// frame of `type`; `columns` and the products are wiped (SESS-6).
    void answer_products(wire::FrameType type, const wire::ColumnsHeader& header,
                         std::span<Residue> columns) {
        const kernels::GroupWeights& w = model_.weights[header.group];
        const auto product = product_.resize(header.columns * w.shape().outputs());
        using Clock = std::chrono::steady_clock;
        const Clock::time_point start = Clock::now();
        w.apply<P>(columns, product, model_.team);
        seconds_ += std::chrono::duration<double>(Clock::now() - start).count();
        if (tamper_) tamper(header, product);
        wire::encode_columns<P>(type, header, product,
                                answer_.resize(wire::columns_frame_bytes(product.size_bytes())));
        base::wipe(columns.data(), columns.size_bytes());
        base::wipe(product.data(), product.size_bytes());
    }

    /// Throws ProtocolError unless `payload` holds header.columns canonical columns of `rows`
    /// residues each.
    std::span<Residue> decode(std::span<const std::byte> payload, const wire::ColumnsHeader& header,
                              std::size_t rows) {
        wire::require_columns_length<P>(payload, header,
                                        rows);  // before memory is reserved, WIRE-9
        const auto columns = columns_.resize(header.columns * rows);
        wire::decode_residues<P>(payload, header, rows, columns);
        return columns;
    }

    const DavidModel& model_;
    GrowingBuffer<Residue> columns_;

private:
    static void wipe(GrowingBuffer<Residue>& residues) {
        base::wipe(residues.span().data(), residues.span().size_bytes());
    }
    /// What a dishonest David makes of it.
    void tamper(const wire::ColumnsHeader& header, std::span<Residue> product) const {
        std::vector<std::uint64_t> residues(product.begin(), product.end());
        tamper_(header, residues);
        std::transform(residues.begin(), residues.end(), product.begin(),
                       [](std::uint64_t residue) { return static_cast<Residue>(residue); });
    }

    const Tamper tamper_;
    bool finished_ = false;
    GrowingBuffer<Residue> product_;
    GrowingBuffer<std::byte> answer_;
    double seconds_ = 0;  // spent in products
};

}  // namespace slip::protocol
