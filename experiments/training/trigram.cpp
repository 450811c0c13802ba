// The baseline: a token trigram with interpolated Kneser-Ney smoothing, trained and measured on the
// same tokens as the model.
#include "options.hpp"
#include "text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_map>

namespace {

using namespace training;

constexpr const char* kUsage =
    "usage: trigram --train TOKENS --valid TOKENS --text FILE\n"
    "TOKENS are files written by `tokenize --as whole`; FILE is the text of --valid.\n";

constexpr int64_t kVocabulary = 2048;

/// One order of the model: how often each token follows each context.
/// The highest order counts occurrences, the lower ones distinct left neighbours (Kneser and Ney's
/// continuation count).
class Order {
public:
    void add(uint64_t context, uint64_t token) {
        const uint32_t before = counts_[key(context, token)]++;
        Context& c = contexts_[context];
        ++c.total;
        if (before == 0) ++c.distinct;
    }

    /// Absolute discount n1 / (n1 + 2 n2), with n_k the number of entries seen k times.
    void finish() {
        std::array<double, 3> seen{};
        for (const auto& [entry, count] : counts_) {
            if (count < seen.size()) ++seen[count];
        }
        discount_ = seen[1] / (seen[1] + 2 * seen[2]);
    }

    /// p(token | context), the discounted mass going to `lower`, the probability of the next lower
    /// order.
    [[nodiscard]] double probability(uint64_t context, uint64_t token, double lower) const {
        const auto found = contexts_.find(context);
        if (found == contexts_.end()) return lower;
        const auto entry = counts_.find(key(context, token));
        const double count = entry == counts_.end() ? 0.0 : entry->second;
        const Context& c = found->second;
        return (std::max(count - discount_, 0.0) + discount_ * c.distinct * lower) / c.total;
    }

    [[nodiscard]] bool contains(uint64_t context, uint64_t token) const {
        return counts_.count(key(context, token));
    }

private:
    struct Context {
        double total = 0, distinct = 0;
    };

    // Token ids take 11 bits, so three fit a key.
    static uint64_t key(uint64_t context, uint64_t token) { return context << 20 | token; }

    std::unordered_map<uint64_t, uint32_t> counts_;
    std::unordered_map<uint64_t, Context> contexts_;
    double discount_ = 0;
};

class Trigram {
public:
    explicit Trigram(const std::vector<int64_t>& ids) {
        for_each(ids, [&](uint64_t a, uint64_t b, uint64_t c) {
            if (!three_.contains(a << 20 | b, c)) {
                if (!two_.contains(b, c)) one_.add(0, c);
                two_.add(b, c);
            }
            three_.add(a << 20 | b, c);
        });
        one_.finish();
        two_.finish();
        three_.finish();
    }

    /// Sum of -ln p over the text.
    [[nodiscard]] double total_nll(const std::vector<int64_t>& ids) const {
        double total = 0;
        for_each(ids, [&](uint64_t a, uint64_t b, uint64_t c) {
            const double uniform = 1.0 / static_cast<double>(kVocabulary);
            const double p = three_.probability(
                a << 20 | b, c, two_.probability(b, c, one_.probability(0, c, uniform)));
            total -= std::log(p);
        });
        return total;
    }

private:
    /// Calls visit with every token behind its two predecessors; BOS stands before the text.
    template <typename Visit>
    static void for_each(const std::vector<int64_t>& ids, Visit visit) {
        uint64_t a = kBos, b = kBos;
        for (const int64_t id : ids) {
            const auto c = static_cast<uint64_t>(id);
            visit(a, b, c);
            a = b;
            b = c;
        }
    }

    Order one_, two_, three_;
};

void run(int argc, char** argv) {
    const Options options(argc, argv, 1, {{"--train", ""}, {"--valid", ""}, {"--text", ""}});
    const Trigram model(read_tokens(options.text("--train"), kVocabulary));
    const auto ids = read_tokens(options.text("--valid"), kVocabulary);
    const std::string text = read_file(options.text("--text"));
    const double nll = model.total_nll(ids);
    std::printf("%zu bytes, %zu tokens: %.4f nats per token, %.4f bits per byte\n", text.size(),
                ids.size(), nll / static_cast<double>(ids.size()),
                nll / std::log(2.0) / static_cast<double>(text.size()));
}

}  // namespace

int main(int argc, char** argv) {
    return run_program(kUsage, [&] { run(argc, argv); });
}
