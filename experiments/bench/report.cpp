#include "experiments/bench/report.hpp"

#include <openssl/crypto.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "experiments/bench/machine.hpp"
#include "optimized/kernels/registry.hpp"

namespace slip::bench {
namespace {

constexpr std::array wanted_figures = {
    Wanted{"unprotected_read", true, 0.85},
    Wanted{"decode_in_process", true, 0.85},
    Wanted{"decode_tls", true, 0.75},
    Wanted{"tls_round_us", false, 95},
    Wanted{"plane_read_1", true, 0.93},
    Wanted{"plane_read_h5", true, 0.85},
    Wanted{"plane_int8", true, 0.90},
    Wanted{"plane_fflas", true, 3},
    Wanted{"plane_ntl", true, 10},
    Wanted{"plane_flint", true, 13},
    Wanted{"plane_dgemm", true, 1},
    Wanted{"ring_ntl", true, 4},
    Wanted{"masks_openssl", true, 3.5},
    Wanted{"charlie_share", false, 0.025},
    Wanted{"portable_naive", true, 2},
    Wanted{"epsilon_online", false, 0.019},
    Wanted{"epsilon_online_7b", false, 0.0092},
    Wanted{"prefill_tls", true, 0.22},
    Wanted{"check_share", false, 0.04},
    Wanted{"session_open_products", false, 0},
    Wanted{"charlie_total_1b", false, 0.09},
    Wanted{"charlie_total_7b", false, 0.045},
    Wanted{"charlie_cpu_1", false, 0.25},
    Wanted{"charlie_cpu_16", false, 0.60},
    Wanted{"charlie_shm_1", false, 0.8},
    Wanted{"charlie_shm_16", false, 0.8},
    Wanted{"decode_tls_steady", true, 0.55},
    Wanted{"block_ns_inputs", false, 8},
    Wanted{"block_ns_outputs", false, 16},
    Wanted{"david_hidden_1", false, 1.1},
    Wanted{"david_hidden_8", false, 1.1},
    Wanted{"david_hidden_32", false, 1.1},
    Wanted{"david_hidden_128", false, 1.1},
    Wanted{"charlie_hidden_1_1b", false, 0.22},
    Wanted{"charlie_hidden_1_7b", false, 0.13},
    Wanted{"charlie_hidden_128_1b", false, 0.44},
    Wanted{"charlie_hidden_128_7b", false, 0.20},
    Wanted{"charlie_over_david", false, 0.03},
    Wanted{"hint_bytes", false, 5},
    Wanted{"guesses_quoting", true, 1.8},
    Wanted{"guesses_free", true, 0.97},
    Wanted{"rounds_per_token_quoting", false, 0.5},
    Wanted{"decode_context", true, 0.85},
    Wanted{"decode_context_tls", true, 0.85},
    Wanted{"prefill_context", true, 0.60},
    Wanted{"decode_in_process_1536", true, 0.88},
    Wanted{"decode_tls_1536", true, 0.75},
    Wanted{"attention_read", true, 0.6},
    Wanted{"batch8_bound", true, 0.70},
    Wanted{"batch8_bound_shm", true, 0.80},
    Wanted{"first_token_bound", true, 0.80},
    Wanted{"davids_share", true, 0.85},
    Wanted{"endpoint_over_library", true, 0.97},
};

std::string compiler() {
#ifdef __clang__
    return "clang " __clang_version__;
#else
    return "g++ " __VERSION__;
#endif
}

/// The mode in which the system gives huge pages: always, madvise or never.
std::string huge_pages() {
    std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
    std::string line;
    std::getline(file, line);
    const std::size_t begin = line.find('['), end = line.find(']');
    return begin < end && end != std::string::npos ? line.substr(begin + 1, end - begin - 1)
                                                   : "unknown";
}

/// 1.5 M, 20.3 G.
std::string with_prefix(double value) {
    const char* prefix = "";
    for (const char* next : {"k", "M", "G", "T"}) {
        if (value < 1000) break;
        value /= 1000;
        prefix = next;
    }
    std::array<char, 32> text;
    std::snprintf(text.data(), text.size(), "%.2f %s", value, prefix);
    return text.data();
}

nlohmann::ordered_json json_of(const std::vector<Part>& parts) {
    nlohmann::ordered_json json = nlohmann::ordered_json::array();
    for (const Part& part : parts) {
        json.push_back(
            {{"name", part.name}, {"columns", part.columns}, {"ms_per_token", 1e3 * part.seconds}});
        if (part.bound > 0) {
            json.back()["bound_ms"] = 1e3 * part.bound;
            json.back()["bound"] = part.bound_by;
        }
    }
    return json;
}

void print(const std::vector<Part>& parts) {
    if (parts.empty()) return;
    std::printf("  %-32s %12s %12s %12s\n", "Charlie's processor time per token", "columns", "ms",
                "at least");
    for (const Part& part : parts) {
        std::printf("  %-34s %12s %12.4f", part.name.c_str(),
                    part.columns == 0 ? "ahead of use" : std::to_string(part.columns).c_str(),
                    1e3 * part.seconds);
        if (part.bound > 0) std::printf(" %12.4f  %s", 1e3 * part.bound, part.bound_by.c_str());
        std::printf("\n");
    }
}

}  // namespace

const Wanted* wanted(std::string_view figure) {
    for (const Wanted& one : wanted_figures) {
        if (one.name == figure) return &one;
    }
    return nullptr;
}

nlohmann::ordered_json json_of(const Report& report, std::size_t repetitions) {
    nlohmann::ordered_json json{{"machine",
                                 {{"processor", processor_name()},
                                  {"processors", std::thread::hardware_concurrency()},
                                  {"kernels", kernels::active().name},
                                  {"compiler", compiler()},
                                  {"openssl", OpenSSL_version(OPENSSL_VERSION)},
                                  {"huge_pages", huge_pages()},
                                  {"repetitions", repetitions}}},
                                {"figures", nlohmann::ordered_json::array()},
                                {"rows", nlohmann::ordered_json::array()}};
    for (const Figure& figure : report.figures) {
        json["figures"].push_back({{"name", figure.name}, {"value", figure.value}});
    }
    for (const Row& row : report.rows) {
        json["rows"].push_back({{"name", row.name},
                                {"seconds", row.seconds},
                                {"per_second", row.per_second},
                                {"unit", row.unit}});
    }
    if (!report.parts.empty()) json["charlie_parts"] = json_of(report.parts);
    return json;
}

void print(const Report& report) {
    std::printf("kernels %s on %s, %s, %s, huge pages %s\n", kernels::active().name,
                processor_name().c_str(), compiler().c_str(), OpenSSL_version(OPENSSL_VERSION),
                huge_pages().c_str());
    for (const Row& row : report.rows) {
        std::printf("  %-46s %12.1f us %10s%s\n", row.name.c_str(), 1e6 * row.seconds,
                    with_prefix(row.per_second).c_str(), row.unit.c_str());
    }
    print(report.parts);
    std::printf("  %-46s %12s %12s\n", "figure", "value", "wanted");
    for (const Figure& figure : report.figures) {
        std::printf("  %-46s %12.4f", figure.name.c_str(), figure.value);
        if (const Wanted* want = wanted(figure.name)) {
            std::printf("    %s %g%s", want->at_least ? ">=" : "<=", want->value,
                        want->reached(figure.value) < 1 ? "  missed" : "");
        }
        std::printf("\n");
    }
}

}  // namespace slip::bench
